// Secrets in a task's templates: the ledger holds a stand-in, the value is filled in by the node that runs it, right before.

import { Fault } from "../../kernel/errors.ts";

/** Private-use characters: no text of a person holds them. */
const STAND_IN = /\uE000secret:([A-Za-z_][A-Za-z0-9_]*)\uE001/g;

/** For each name a text that stands for its value. */
export function standIns(names: Iterable<string>): Record<string, string> {
  return Object.fromEntries([...names].map((name) => [name, `\uE000secret:${name}\uE001`]));
}

/**
 * The JSON text with every stand-in replaced. Throws `input.refused` naming a variable that this node has not; only the
 * home's `.env` is asked, so that a workflow cannot read whatever its node's process happens to know.
 */
export function withSecrets(json: string, secret: (name: string) => string | undefined): string {
  return json.replace(STAND_IN, (_whole, name: string) => {
    const value = secret(name);
    if (value === undefined)
      throw new Fault("input.refused", `the secret ${name} is not in this node's .env`, {
        hint: `Write ${name}=… into the home's .env (0600).`,
      });
    return JSON.stringify(value).slice(1, -1);
  });
}
