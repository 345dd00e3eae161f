// `npm start`: install, build, and run a node whose home is `.nightshift/` in this checkout, unless NIGHTSHIFT_HOME is set.

import { createRequire } from "node:module";
import { join } from "node:path";
import { build } from "./build.mjs";
import { ensureInstalled, requirePlatform, root } from "./install.mjs";

requirePlatform();
ensureInstalled();
await build();

// In this process, not in a child: Ctrl-C reaches the node once, and nothing stands between it and its drain (L13).
process.env.NIGHTSHIFT_HOME ??= join(root, ".nightshift");
process.argv = [
  process.argv[0] ?? "node",
  join(root, "bin", "nightshift.js"),
  "up",
  "--seed-samples",
  ...process.argv.slice(2),
];
createRequire(import.meta.url)(join(root, "bin", "nightshift.js"));
