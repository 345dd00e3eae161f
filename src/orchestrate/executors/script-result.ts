// What a script's end means as a result (@source peers.md §5.2, 12): its own file, else the last JSON it printed, else its
// words.

export interface EndedScript {
  exitCode: number | undefined;
  stdout: string;
  stderr: string;
  isTruncated: boolean;
  /** What it wrote to $NIGHTSHIFT_OUTPUT. */
  file: string | undefined;
  /** Where the whole output is kept, for who reads a cut one. */
  outputFile: string;
}

/** Characters of each stream in a result; the output's file has more. */
const MAX_TEXT = 8_000;

/** JSON of the file (a text that is none stays a text); else of the last line or of all that was printed; else the words. */
export function resultOfScript(ended: EndedScript): unknown {
  const { file, stdout } = ended;
  if (file !== undefined) return jsonOf(file.trim())?.value ?? file;
  const printed = printedJson(stdout);
  return printed ? printed.value : words(ended);
}

/** Maps and lists only: a bare number or word on the last line is what scripts say to people. */
function printedJson(stdout: string): { value: unknown } | undefined {
  const text = stdout.trim();
  const last = text.slice(text.lastIndexOf("\n") + 1).trim();
  for (const candidate of [last, text]) {
    if (!/^[{[]/.test(candidate)) continue;
    const found = jsonOf(candidate);
    if (found) return found;
  }
  return undefined;
}

function jsonOf(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

function words({ stdout, stderr, exitCode, isTruncated, outputFile }: EndedScript): Record<string, unknown> {
  const isCut = isTruncated || stdout.length > MAX_TEXT || stderr.length > MAX_TEXT;
  return {
    stdout: stdout.slice(-MAX_TEXT),
    stderr: stderr.slice(-MAX_TEXT),
    exitCode: exitCode ?? null,
    ...(isCut && { isTruncated: true, file: outputFile }),
  };
}
