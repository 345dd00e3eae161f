// `outputs: {score: "$.detail.score"}`: parts of a result by name. Paths are `$`, `.name`, `["name"]` and `[3]`.

const STEP = /\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]|\["([^"\]]*)"\]|\['([^'\]]*)'\]/y;

/** The steps of a path; undefined for one that cannot be read. */
export function parsePick(path: string): (string | number)[] | undefined {
  if (!path.startsWith("$")) return undefined;
  const steps: (string | number)[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const match = STEP.exec(path);
    if (!match) return undefined;
    steps.push(match[2] === undefined ? (match[1] ?? match[3] ?? match[4] ?? "") : Number(match[2]));
  }
  return steps;
}

/** What each path picks; null where a result has nothing there. */
export function pickOutputs(
  picks: Readonly<Record<string, string>>,
  result: unknown,
): Record<string, unknown> | undefined {
  const entries = Object.entries(picks);
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.map(([name, path]) => [name, pick(result, parsePick(path) ?? [])]));
}

function pick(value: unknown, steps: readonly (string | number)[]): unknown {
  let found = value;
  for (const step of steps) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, step)) return null;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found ?? null;
}
