// Whether the local backend can give what a spec asks of it.

import type { LocalSpec } from "../../records/environment-spec.ts";
import { findCommand } from "../find-command.ts";
import { whyNoWalls } from "./bubblewrap.ts";
import type { CheckDeps, EnvironmentCheck } from "./place.ts";

/** Always usable without a sandbox; the notes say what `local` is not. */
export async function checkLocal({ nodeEnv }: CheckDeps, spec: LocalSpec): Promise<EnvironmentCheck> {
  const path = nodeEnv.PATH ?? "";
  const whyNot = await whyNoWalls(
    { kind: spec.sandbox ? "sandbox" : "hide", hidden: [], shown: [] },
    { PATH: path },
  );
  if (spec.sandbox && whyNot)
    return {
      usable: false,
      why: whyNot,
      hint: "Install bubblewrap and allow user namespaces, or use a container (docker:IMAGE).",
    };
  const bash = await findCommand("bash", path);
  const notes = [bash.kind === "found" ? "the shell is bash" : "there is no bash: the shell is sh"];
  if (!spec.sandbox)
    notes.push(
      whyNot
        ? `local is no boundary: an agent's commands can read Nightshift's home (${whyNot})`
        : "local is no boundary; an agent's terminal does not see Nightshift's home",
    );
  return { usable: true, notes };
}
