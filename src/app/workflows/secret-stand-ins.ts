// Secrets in a task's templates: the ledger holds a stand-in, the value is filled in by the node that runs it, right before.

import { Fault } from "../../kernel/errors.ts";
import { isSecretName } from "../../kernel/redact.ts";
import type { Context } from "../context.ts";

/** Private-use characters: no text of a person holds them. */
const STAND_IN = /\uE000secret:([A-Za-z_][A-Za-z0-9_]*)\uE001/g;

/** For each name a text that stands for its value. */
export function standIns(names: Iterable<string>): Record<string, string> {
  return Object.fromEntries([...names].map((name) => [name, `\uE000secret:${name}\uE001`]));
}

/** The JSON text with every stand-in replaced. Throws `input.refused` naming a secret that is not to be had. */
export function withSecrets(json: string, secret: (name: string) => string | undefined): string {
  return json.replace(STAND_IN, (_whole, name: string) => {
    const value = secret(name);
    if (value === undefined)
      throw new Fault("input.refused", `this node has no secret called ${name}`, {
        hint: `Write ${name}=… into the home's .env (0600); its name must hold KEY, TOKEN, SECRET, PASSWORD, CREDENTIAL or PRIVATE.`,
      });
    return JSON.stringify(value).slice(1, -1);
  });
}

/** Only names that say so are secrets: their values are hidden wherever something leaves (redact.ts). */
export function secretsOf({ variable }: Pick<Context, "variable">): (name: string) => string | undefined {
  return (name) => (isSecretName(name) ? variable(name) : undefined);
}
