// Runs short commands once in this process and keeps the code they compiled: node scripts/warm-cli.cjs EMPTY_FOLDER

const { chmodSync, mkdirSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { loadCli } = require("../bin/load-cli.js");

const home = process.argv[2];
chmodSync(home, 0o700);
mkdirSync(join(home, "scripts"));
writeFileSync(join(home, "scripts", "warm.sh"), "echo warm\n");

/** Only what is short-lived: what a long command compiles would be read by every short one. */
const COMMANDS = [
  ["job", "add", "every 5m", "--script", "warm.sh", "--name", "warm"],
  ["job", "list"],
];

async function warm() {
  const { main, keepCode } = loadCli();
  for (const command of COMMANDS) {
    await main([...command, "--home", home]);
    if (process.exitCode) throw new Error(`nightshift ${command.join(" ")} ended with ${process.exitCode}`);
  }
  keepCode();
}

void warm();
