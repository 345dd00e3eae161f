// What `doctor` says of failures and messages: incidents that nobody has acknowledged, messages that ended without arriving, platforms that do not answer, settings that break one.

import { displayTarget } from "../deliver/targets.ts";
import { formatInstant } from "../kernel/time.ts";
import type { Delivery } from "../records/delivery.ts";
import type { Incident } from "../records/incident.ts";
import type { Context } from "./context.ts";
import type { Finding } from "./diagnosis.ts";

const MOST_NAMED = 20;
/** Waiting rows that are looked at. */
const MOST_WAITING = 500;
/** Newest messages whose receipts are looked at. */
const MOST_READ = 100;

export async function deliveryFindings(context: Context): Promise<Finding[]> {
  const { ledger } = context;
  const [incidents, ended, waiting, arrived] = await Promise.all([
    ledger.incidents({ state: ["open"], limit: MOST_NAMED }),
    ledger.deliveries({ state: ["dead", "unknown"], limit: MOST_NAMED }),
    ledger.deliveries({ state: ["queued"], limit: MOST_WAITING }),
    ledger.deliveries({ state: ["delivered"], limit: MOST_READ }),
  ]);
  return [
    ...incidents.map(incidentFinding),
    ...ended.map(endedFinding),
    ...downFindings(waiting),
    ...movedFindings(arrived),
    ...brokenFindings(context),
  ];
}

function incidentFinding({ id, jobId, error, failures, openedAt }: Incident): Finding {
  const times = failures === 1 ? "once" : `${failures} times`;
  const what = `Job "${jobId}" has failed ${times} since ${formatInstant(openedAt)}: ${error}.`;
  return {
    code: "incidentOpen",
    what,
    todo: `Mend it, or say that you know: nightshift incident ack ${id}.`,
  };
}

function endedFinding({ id, target, state, error }: Delivery): Finding {
  const what = `Delivery ${id} to ${displayTarget(target)} is ${state}: ${error ?? "no reason given"}.`;
  const todo = `Mend the cause, then: nightshift delivery retry ${id}; or let it rest: nightshift delivery dismiss ${id}.`;
  return { code: "deliveryDead", what, todo };
}

/** A waiting row with a reason was held back or failed; one line for each platform, however many wait. */
function downFindings(waiting: readonly Delivery[]): Finding[] {
  const byPlatform = new Map<string, Delivery[]>();
  for (const row of waiting) {
    if (row.error === undefined) continue;
    byPlatform.set(row.target.platform, [...(byPlatform.get(row.target.platform) ?? []), row]);
  }
  return [...byPlatform].map(([platform, rows]) => ({
    code: "platformDown",
    what: `${rows.length === 1 ? "1 message waits" : `${rows.length} messages wait`} for ${platform}: ${rows[0]?.error ?? ""}.`,
    todo: `They are tried again by themselves. Look: nightshift delivery test ${platform}.`,
  }));
}

/** One line for each chat whose messages had to be sent after it. */
function movedFindings(arrived: readonly Delivery[]): Finding[] {
  const moved = new Map<string, string>();
  for (const { target, receipt } of arrived)
    if (receipt?.movedTo !== undefined && !moved.has(target.text)) moved.set(target.text, receipt.movedTo);
  return [...moved].map(([target, chat]) => ({
    code: "chatMoved",
    what: `The chat of ${target} has moved: its id is now ${chat}.`,
    todo: `Messages follow it as long as the platform says so. Write "${chat}" where the old id stands: in jobs' targets, or as the home.`,
  }));
}

/** Only platforms that somebody configured: the others are not missed. */
function brokenFindings({ config, platforms }: Context): Finding[] {
  return Object.keys(config.deliver.platforms).flatMap((platform): Finding[] => {
    const why = platforms.get(platform)?.unusable();
    if (why === undefined) return [];
    const todo = `Correct deliver.${platform} in config.yaml, then: nightshift delivery targets.`;
    return [{ code: "platformBroken", what: `${platform} cannot be used: ${why}.`, todo }];
  });
}
