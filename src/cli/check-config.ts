// `check-config`, `up --validate-config`.

import { readConfigFile } from "../app/check-config.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print } from "./io.ts";

export const checkConfig: RunCommand = async ({ args: [file], io, home }) => {
  const { path, warnings } = await readConfigFile(home.path, file, io.env);
  print(io, { file: path, isValid: true, warnings }, () =>
    [`${path} is valid.`, ...warnings.map((warning) => `note: ${warning}`)].join("\n"),
  );
  return EXIT.ok;
};
