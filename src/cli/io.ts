// What a command may touch of the terminal. Results go to stdout, progress and errors to stderr (DESIGN §7).

import { isatty } from "node:tty";

export interface Io {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  isJson: boolean;
  isDebug: boolean;
  /** Whether a person reads stdout. */
  isTty: boolean;
  /** A result. One call, one line (or document). */
  out(text: string): void;
  /** Progress or a remark; never a result. */
  note(text: string): void;
  /** Bytes of somebody else's program, as they are. */
  pass(stream: "stdout" | "stderr", bytes: Uint8Array): void;
  readStdin(): Promise<string>;
  /** Aborts with Ctrl-C. */
  signal: AbortSignal;
}

/** Prints `document` with `--json`, else `text()`. */
export function print(io: Io, document: unknown, text: () => string): void {
  io.out(io.isJson ? JSON.stringify(document, null, 2) : text());
}

async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}

/** The real terminal. */
export function terminalIo(options: { isJson: boolean; isDebug: boolean; signal: AbortSignal }): Io {
  return {
    ...options,
    env: process.env,
    cwd: process.cwd(),
    isTty: isatty(1),
    out: (text) => {
      process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
    },
    note: (text) => {
      process.stderr.write(`${text}\n`);
    },
    pass: (stream, bytes) => {
      process[stream].write(bytes);
    },
    readStdin: () => readAll(process.stdin),
  };
}

/** Left-aligned columns, two spaces apart; the last column is not padded. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => width(row[column] ?? ""))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        column === cells.length - 1 ? cell : cell + " ".repeat((widths[column] ?? 0) - width(cell)),
      )
      .join("  ")
      .trimEnd();
  return [line(header), ...rows.map(line)].join("\n");
}

/** Columns a terminal uses: wide characters (CJK, emoji) take two. */
function width(text: string): number {
  let columns = 0;
  for (const character of text) {
    columns +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u.test(
        character,
      )
        ? 2
        : 1;
  }
  return columns;
}
