// `hook list`: the webhooks that come in.

import { type HookDocument, listHooks } from "../app/hooks/hooks.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print, table } from "./io.ts";

export const list: RunCommand = async ({ io, open }) => {
  const hooks = await listHooks(await open());
  print(io, hooks, () => (hooks.length === 0 ? "No webhooks." : table(HEADER, hooks.map(row))));
  return EXIT.ok;
};

const HEADER = ["WEBHOOK", "PATH", "SIGNED", "USABLE", "SETS OFF, OR WHY NOT"];

function row({ name, path, signature, jobs, isUsable, why }: HookDocument): string[] {
  const signed = typeof signature === "string" ? signature : signature.header;
  return [name, path, signed, isUsable ? "yes" : "no", why ?? (jobs.join(", ") || "–")];
}
