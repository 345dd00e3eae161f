// Reading a config without opening its home.

import { resolve } from "node:path";
import { Fault } from "../kernel/errors.ts";
import { readConfig } from "../records/config-document.ts";
import { homePaths, readHomeFile } from "../store/files/home.ts";

/** Throws `config.invalid` with every mistake and its place, `job.yaml` for unreadable YAML. A home without config is valid. */
export async function readConfigFile(
  home: string,
  file: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ path: string; warnings: string[] }> {
  const paths = homePaths(home);
  const path = file === undefined ? paths.configFile : resolve(file);
  const found = await readHomeFile(path);
  if (file !== undefined && !found)
    throw new Fault("input.not-found", `There is no file ${path}.`, { hint: "Correct its name." });
  const envFile = await readHomeFile(paths.envFile);
  const { warnings } = readConfig(found?.text, { file: path, env, envFile });
  return { path, warnings };
}
