// The import rule of the house (docs/architecture.md): arrows point down only, L2 rooms never see each other.
const L2 = ["schedule", "delegate", "execute", "deliver", "agent", "orchestrate", "research"];
const rooms = (names) => `^src/(${names.join("|")})/`;

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    {
      name: "kernel-is-the-ground",
      severity: "error",
      from: { path: "^src/kernel/" },
      to: { path: "^src/", pathNot: "^src/kernel/" },
    },
    {
      name: "records-see-kernel",
      severity: "error",
      from: { path: "^src/records/" },
      to: { path: "^src/", pathNot: rooms(["kernel", "records"]) },
    },
    ...L2.map((room) => ({
      name: `${room}-sees-only-down`,
      severity: "error",
      from: { path: `^src/${room}/` },
      to: { path: "^src/", pathNot: rooms(["kernel", "records", room]) },
    })),
    {
      name: "store-sees-only-down",
      severity: "error",
      from: { path: "^src/store/" },
      to: { path: "^src/", pathNot: rooms(["kernel", "records", "store"]) },
    },
    {
      name: "app-sees-no-surface",
      severity: "error",
      from: { path: "^src/app/" },
      to: { path: rooms(["cli", "http", "mcp"]) },
    },
    {
      name: "surfaces-go-through-app",
      severity: "error",
      from: { path: rooms(["cli", "http", "mcp"]) },
      to: { path: rooms([...L2, "store"]) },
    },
    {
      // What the build bundles into dist/ is a devDependency, so that users need not install it again.
      name: "no-dev-dependency-in-src",
      severity: "error",
      from: { path: "^src/" },
      to: {
        dependencyTypes: ["npm-dev"],
        pathNot:
          "node_modules/(@ai-sdk/[^/]+|@hono/node-server|@marcbachmann/cel-js|@modelcontextprotocol/sdk|@types|commander|hono|html-to-text|kysely|mqtt|modal|@daytonaio/sdk|@vercel/sandbox|nodemailer|yaml|zod)/",
      },
    },
    {
      // A door to heavy packages is opened by `import()`, where its work begins (scripts/build.mjs gives it its own file).
      name: "heavy-doors-open-on-use",
      severity: "error",
      from: { path: "^src/" },
      to: {
        path: "^src/(agent/(models/sdk|tools/html-text|tools/mcp-sdk)|app/executors/import-module|deliver/platforms/send-mail|orchestrate/expressions/expression)\\.ts$",
        dependencyTypesNot: ["dynamic-import", "type-only", "type-import"],
      },
    },
    {
      name: "not-resolved",
      severity: "error",
      from: { path: "^src/" },
      to: { couldNotResolve: true, pathNot: "^node:sqlite$" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "require", "node", "default", "types"],
    },
  },
};
