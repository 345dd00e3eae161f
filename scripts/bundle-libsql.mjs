// Bundles libsql's JavaScript into the CLI, with a quicker way to its native part.
//
// libsql finds out by itself which C library runs it: it has Node write a diagnostic report and loads child_process, which
// takes longer than opening the database. Here the glibc build is tried, then the musl one; npm installs only what fits.

const FIND = "return require(`@libsql/${target}`);";

const LOADER = `
const { createRequire } = require("node:module");
const names = process.platform === "linux" ? ["gnu", "musl", "gnueabihf", "musleabihf"] : [""];
exports.currentTarget = () => "";
exports.load = () => null;
exports.loadNative = () => {
  // From where libsql lies: its native part need not be visible from here.
  const requireFrom = createRequire(createRequire(__filename).resolve("libsql"));
  let failure;
  for (const name of names) {
    try {
      return requireFrom(["@libsql/" + process.platform, process.arch, name].filter(Boolean).join("-"));
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
};`;

export const bundledLibsql = {
  name: "bundled-libsql",
  setup(build) {
    build.onResolve({ filter: /^(@neon-rs\/load|detect-libc)$/ }, ({ path }) => ({
      path,
      namespace: "libsql-loader",
    }));
    build.onLoad({ filter: /^detect-libc$/, namespace: "libsql-loader" }, () => ({
      contents: "exports.familySync = () => null;",
    }));
    build.onLoad({ filter: /^@neon-rs\/load$/, namespace: "libsql-loader" }, () => ({
      contents: LOADER,
      resolveDir: ".",
    }));
    build.onLoad({ filter: /[\\/]libsql[\\/]index\.js$/ }, async ({ path }) => {
      const { readFile } = await import("node:fs/promises");
      const source = await readFile(path, "utf8");
      if (!source.includes(FIND)) throw new Error(`${path} has changed; look at scripts/bundle-libsql.mjs`);
      return {
        contents: source.replace(FIND, `return require("@neon-rs/load").loadNative();`),
        loader: "js",
      };
    });
  },
};
