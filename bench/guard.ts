// What the prompt guard costs: the time of one scan of 8 kB, over the kinds of text that it meets.

import { scanPrompt } from "../src/agent/guard/scan-prompt.ts";
import { type Benchmark, median, type Result, type Setup, spread } from "./measure.ts";

const SIZE = 8_192;
const SCANS = 200;

const PROSE =
  "Every weekday at 18:00 check the errors in this folder's logs, compare them with last week's and post a summary.\n";
const CODE =
  'curl -s -H "Authorization: Bearer $GITHUB_TOKEN" https://api.github.com/repos/acme/web/issues | jq length\nrm -rf build/ && npm test\n';
const MIXED = "每天早上检查日志。 Проверь журнал. اشرح الفرق. सर्वर के लॉग जाँचें। 👨‍👩‍👧 caf%C3%A9 &amp; more\n";

/** Median time of one scan in each round, ms. */
function scanMs(text: string, mode: "strict" | "loose", rounds: number): number[] {
  return Array.from({ length: rounds }, () => {
    const times = Array.from({ length: SCANS }, () => {
      const began = performance.now();
      scanPrompt(text, mode);
      return performance.now() - began;
    });
    return median(times);
  });
}

async function run({ repeats }: Setup): Promise<Result[]> {
  const kinds = [
    ["prose", PROSE],
    ["commands", CODE],
    ["many scripts", MIXED],
  ] as const;
  return kinds.flatMap(([name, piece]) =>
    (["strict", "loose"] as const).map((mode): Result => {
      const text = piece.repeat(Math.ceil(SIZE / piece.length)).slice(0, SIZE);
      scanMs(text, mode, 1);
      const values = scanMs(text, mode, repeats);
      return {
        what: `guard: 8 kB of ${name}, ${mode}`,
        value: `${spread(values, 2)} ms`,
        goal: "≤ 1 ms",
        ok: median(values) <= 1,
      };
    }),
  );
}

export const guard: Benchmark = { name: "guard", run };
