// The home's `.env`: NAME=value lines, the place for secrets.
//
// I1. Nothing in it is expanded or run: a value is what stands there, without its quotes.

export interface EnvFile {
  text: string;
  /** Permission bits, e.g. 0o600; checked when given. */
  mode?: number | undefined;
}

export interface EnvReading {
  values: Readonly<Record<string, string>>;
  warnings: string[];
}

const LINE = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/;

/** Reads `.env`; later lines win. A line that is neither an assignment, a comment nor empty is a warning, by number only. */
export function parseEnvFile(file: EnvFile | undefined): EnvReading {
  const values: Record<string, string> = {};
  const warnings: string[] = [];
  if (!file) return { values, warnings };
  if (file.mode !== undefined && (file.mode & 0o077) !== 0)
    warnings.push(
      `.env can be read by others (mode ${(file.mode & 0o777).toString(8)}); run chmod 600 on it.`,
    );
  const lines = file.text.replace(/^\uFEFF/, "").split(/\r?\n/);
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? "";
    if (/^\s*(#|$)/.test(line)) continue;
    const [, name, start] = LINE.exec(line) ?? [];
    if (name === undefined || start === undefined) {
      warnings.push(`.env line ${index + 1} is not NAME=value and was left out.`);
      continue;
    }
    const { value, nextIndex } = readValue(lines, index, start);
    values[name] = value;
    index = nextIndex;
  }
  return { values, warnings };
}

/** A quoted value may run over several lines (private keys do); an open quote that never closes is taken literally. */
function readValue(
  lines: readonly string[],
  index: number,
  start: string,
): { value: string; nextIndex: number } {
  const quote = start[0];
  if (quote !== '"' && quote !== "'") return { value: start.replace(/\s+#.*$/, "").trim(), nextIndex: index };
  let body = start.slice(1);
  for (let at = index; at < lines.length; at++) {
    if (at > index) body += `\n${lines[at] ?? ""}`;
    const close = closingQuote(body, quote);
    if (close >= 0) return { value: unescaped(body.slice(0, close), quote), nextIndex: at };
  }
  return { value: start.trim(), nextIndex: index };
}

function closingQuote(body: string, quote: string): number {
  for (let at = 0; at < body.length; at++) {
    if (quote === '"' && body[at] === "\\") at++;
    else if (body[at] === quote) return at;
  }
  return -1;
}

function unescaped(body: string, quote: string): string {
  if (quote === "'") return body;
  return body.replace(
    /\\([nrt"\\])/g,
    (_, letter: string) => ({ n: "\n", r: "\r", t: "\t" })[letter] ?? letter,
  );
}
