// A real home on which agent jobs can be made: two models that nobody answers for, and a skill.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "../../src/app/context.ts";
import type { OpenOptions } from "../../src/app/open-context.ts";
import { testContext } from "./home.ts";
import { tempFolder } from "./temp.ts";

const MODELS = `models:
  default: quick
  named:
    quick: {provider: openai-compatible, id: quick-1, baseUrl: "http://127.0.0.1:9/v1"}
    careful: {provider: openai-compatible, id: careful-1, baseUrl: "http://127.0.0.1:9/v1"}
`;

const SKILL = `---
name: triage
description: How to read logs.
---
Read them from the end.
`;

/** `config` is added to config.yaml. */
export async function agentContext(
  options: Partial<OpenOptions> & { config?: string } = {},
): Promise<Context> {
  const { config = "", ...rest } = options;
  const path = await agentHome(config);
  return testContext({ path, ...rest });
}

/** The folder of such a home, not opened yet. */
export async function agentHome(config = ""): Promise<string> {
  const path = join(await tempFolder(), "home");
  await mkdir(join(path, "skills", "triage"), { recursive: true, mode: 0o700 });
  await writeFile(join(path, "config.yaml"), `${MODELS}${config}`, { mode: 0o600 });
  await writeFile(join(path, "skills", "triage", "SKILL.md"), SKILL, { mode: 0o600 });
  return path;
}
