// Variables that were given a secret's value in a text: `k = os.environ["KEY"]`.

import { secretVariables } from "./secret-names.ts";

export interface Assignment {
  name: string;
  /** The source of the value, as it stands in the text. */
  value: string;
  secret: string;
}

/** At most 50 (folded text), in order. */
export function assignmentsIn(text: string): readonly Assignment[] {
  const found: Assignment[] = [];
  for (const match of text.matchAll(SOURCE)) {
    const near = text.slice(Math.max(0, match.index - 80), match.index);
    const before = near.slice(near.lastIndexOf("\n") + 1);
    const [, name] = (before.includes("=") && ASSIGNED.exec(before)) || [];
    if (name === undefined) continue;
    const value = text.slice(match.index, match.index + 100).split(/[\n;]/, 1)[0] ?? "";
    const [secret] = secretVariables(value);
    if (secret !== undefined) found.push({ name, value, secret });
    if (found.length >= 50) break;
  }
  return found;
}

const SOURCE = /\$\{?[a-z_]|environ|getenv|process\.env|env\[/g;
const ASSIGNED = /(?<![\w$])([a-z_]\w{0,30})\s{0,2}:?=[^;=]{0,40}$/;
