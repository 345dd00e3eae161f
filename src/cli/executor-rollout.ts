// `executor rollout`: how one executor's tasks are shared between two of its versions.

import {
  endRollout,
  listRollouts,
  type RolloutDocument,
  removeRollout,
  showRollout,
  startRollout,
} from "../app/executors/rollouts.ts";
import { Fault } from "../kernel/errors.ts";
import type { Options, RunCommand } from "./command.ts";
import { EXIT } from "./errors.ts";
import { print, table } from "./io.ts";
import { isSet, numberOption, textOption } from "./options.ts";

const ENDS = ["stop", "finish", "remove"] as const;
/** What begins a rollout or changes its share. */
const SHARES = ["version", "traffic", "baseline", "minSamples", "maxMoreFailures", "maxSlowdown"] as const;

export const rollout: RunCommand = async ({ args: [name], options, io, open }) => {
  const wanted = wantedOf(options);
  if (name === undefined) {
    if (wanted !== "status")
      throw new Fault("input.usage", "whose rollout?", { hint: "Name the executor: executor rollout NAME." });
    const documents = await listRollouts(await open());
    print(io, documents, () => (documents.length === 0 ? "No rollouts." : listText(documents)));
    return EXIT.ok;
  }
  const request = wanted === "share" ? requestOf(options, name) : undefined;
  const context = await open();
  if (wanted === "remove") {
    const document = await removeRollout(context, name);
    print(io, document, () => `No rollout of ${name} any more: its newest version does every task.`);
    return EXIT.ok;
  }
  const document = request
    ? await startRollout(context, name, request)
    : wanted === "status"
      ? await showRollout(context, name)
      : await endRollout(context, name, wanted === "stop" ? "stopped" : "finished");
  print(io, document, () => rolloutText(document));
  return EXIT.ok;
};

type Wanted = "share" | "status" | (typeof ENDS)[number];

/** One thing at a time. Throws `input.usage`. */
function wantedOf(options: Options): Wanted {
  const wanted: Wanted[] = [
    ...(isSet(options, "status") ? (["status"] as const) : []),
    ...ENDS.filter((end) => isSet(options, end)),
    ...(SHARES.some((one) => options[one] !== undefined) ? (["share"] as const) : []),
  ];
  const [first = "status", second] = wanted;
  if (second === undefined) return first;
  throw new Fault(
    "input.usage",
    `--${second === "share" ? "version" : second} does not go with --${first}.`,
    {
      hint: "Say one of --version with --traffic, --status, --stop, --finish, --remove.",
    },
  );
}

function requestOf(options: Options, name: string) {
  const [version, baseline] = [textOption(options, "version"), textOption(options, "baseline")];
  const traffic = numberOption(options, "traffic", { min: 0, max: 100 });
  if (version === undefined || traffic === undefined)
    throw new Fault("input.usage", "a rollout needs a version and its share of the tasks.", {
      hint: `Write: nightshift executor rollout ${name} --version 2 --traffic 20.`,
    });
  const bounds = {
    minSamples: numberOption(options, "minSamples", { min: 1, max: 1_000 }),
    maxMoreFailures: numberOption(options, "maxMoreFailures", { min: 0, max: 100 }),
    maxSlowdown: factorOption(options, "maxSlowdown"),
  };
  return { version, traffic, bounds, ...(baseline !== undefined && { baseline }) };
}

function factorOption(options: Options, key: string): number | undefined {
  const text = textOption(options, key);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value >= 1 && value <= 100) return value;
  throw new Fault("input.usage", `--max-slowdown cannot be "${text}".`, {
    hint: "Write a number from 1 to 100, such as 1.5.",
  });
}

function listText(documents: readonly RolloutDocument[]): string {
  const rows = documents.map(({ executor, state, version, baseline, traffic, changedAt }) => [
    ...[executor, state, version, baseline],
    state === "running" ? `${traffic} %` : "–",
    changedAt,
  ]);
  return table(["EXECUTOR", "STATE", "VERSION", "BASELINE", "TRAFFIC", "SINCE"], rows);
}

function rolloutText(document: RolloutDocument): string {
  const { executor, version, baseline, attempts, bounds, reason } = document;
  const rows = attempts.map((one) => [
    one.version,
    String(one.attempts),
    String(one.failures),
    one.attempts === 0 ? "–" : `${one.failureRate.toFixed(1)} %`,
    one.medianMs === null ? "–" : `${one.medianMs} ms`,
  ]);
  const { minSamples, maxMoreFailures, maxSlowdown } = bounds;
  return [
    `${executor}: ${shareText(document)}`,
    ...(reason === null ? [] : [`because ${reason}`]),
    table(["VERSION", "ATTEMPTS", "FAILED", "RATE", "MEDIAN"], rows),
    `back to ${baseline} by itself when, after ${minSamples} attempts, ${version} fails more than ${maxMoreFailures} percentage points more often or takes more than ${maxSlowdown} times as long`,
  ].join("\n");
}

function shareText({ state, version, baseline, traffic, changedAt }: RolloutDocument): string {
  switch (state) {
    case "running":
      return `${traffic} of 100 tasks go to ${version}, the others to ${baseline}`;
    case "finished":
      return `finished at ${changedAt}, every task goes to ${version}`;
    case "rolledBack":
      return `rolled back by itself at ${changedAt}, every task goes to ${baseline}`;
    default:
      return `stopped at ${changedAt}, every task goes to ${baseline}`;
  }
}
