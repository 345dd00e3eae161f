// `delivery targets | test | render`.

import { listTargets, renderFor, type TestDocument, testTarget } from "../app/delivery-targets.ts";
import type { RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print, table } from "./io.ts";
import { readInput } from "./read-input.ts";

export const targets: RunCommand = async ({ io, open }) => {
  const documents = listTargets(await open());
  const rows = documents.map(({ platform, isUsable, why, home, repeatability, address }) => [
    platform,
    isUsable ? "yes" : "no",
    home ?? "–",
    repeatability,
    isUsable ? (address ?? "") : (why ?? ""),
  ]);
  print(io, documents, () => table(["PLATFORM", "USABLE", "HOME", "TWICE IS", "ADDRESS, OR WHY NOT"], rows));
  return EXIT.ok;
};

export const test: RunCommand = async ({ args: [target = ""], io, open }) => {
  const context = await open({ stdout: (text) => io.out(text) });
  const documents = await testTarget(context, target, io.signal);
  print(io, documents, () => documents.map(testText).join("\n"));
  if (documents.every(({ result }) => result === "delivered")) return EXIT.ok;
  return documents.some(({ result }) => result === "unknown") ? EXIT.unknown : EXIT.failed;
};

function testText({ target, result, receipt, error }: TestDocument): string {
  const facts = [receipt?.id, receipt?.status, receipt?.note].filter(
    (fact) => fact !== null && fact !== undefined,
  );
  return `${target}: ${result}${facts.length > 0 ? ` (${facts.join(", ")})` : ""}${error ? `: ${error}` : ""}`;
}

export const render: RunCommand = async ({ args: [target = "", file = "-"], io, open }) => {
  const text = await readInput(io, file);
  const documents = renderFor(await open(), target, text);
  print(io, documents, () =>
    documents
      .map(({ target: address, part, sent }) => {
        const shown = typeof sent === "string" ? sent : JSON.stringify(sent, null, 2);
        return `── ${address}, part ${part}\n${shown}`;
      })
      .join("\n"),
  );
  return EXIT.ok;
};
