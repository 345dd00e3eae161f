// Each rule on both sides of its border, and the page that tells people about it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { KNOWN_APIS } from "../../src/agent/guard/known-hosts.ts";
import { RULES } from "../../src/agent/guard/rules/index.ts";
import { INVISIBLE_RULE, scanPrompt } from "../../src/agent/guard/scan-prompt.ts";
import { FILE_HINT } from "../../src/agent/guard/secret-names.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/guard.md"), "utf8");

describe.each(RULES.map((rule) => [rule.id, rule] as const))("%s", (id, rule) => {
  test.each(rule.examples.for)("blocks: %s", (text) => {
    expect(scanPrompt(text, rule.modes[0] ?? "strict")).toMatchObject({ verdict: "block", rule: id });
  });

  test.each(rule.examples.against)("lets pass: %s", (text) => {
    expect(scanPrompt(text, "strict")).toEqual({ verdict: "pass" });
  });

  test("has examples on both sides, and its line in docs/guard.md", () => {
    expect(rule.examples.for.length).toBeGreaterThan(0);
    expect(rule.examples.against.length).toBeGreaterThan(0);
    expect(page).toContain(`| \`${id}\` | ${rule.class} | ${rule.modes.join(", ")} | ${rule.reason} |`);
  });
});

test("the page tells of invisible characters and of every host that may get its own secret", () => {
  expect(page).toContain(`| \`${INVISIBLE_RULE.id}\` |`);
  expect(KNOWN_APIS.map(([host]) => host).filter((host) => !page.includes(`\`${host}\``))).toEqual([]);
});

test("ids are unique", () => {
  expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
});

test.each([
  ".env",
  "x/.env.production",
  "~/.aws/credentials",
  "credentials.json",
  ".netrc",
  ".pgpass",
  ".git-credentials",
  ".vault-token",
  "~/.docker/config.json",
  "~/.kube/config",
  "gh/hosts.yml",
  "id_rsa",
  "id_ed25519",
  "~/.ssh/*",
  ".gnupg",
  "/etc/shadow",
  ".bash_history",
  "login.keychain",
  "cookies.sqlite",
  "/proc/1/environ",
  "privkey.pem",
  "server.key",
  "service-account.json",
  "/var/run/secrets/x",
])("the hint that spares work in harmless texts knows %s", (file) => {
  expect(FILE_HINT.test(file)).toBe(true);
  expect(scanPrompt(`cat ${file}`, "strict")).toMatchObject({ verdict: "block" });
});
