// Which waiting tasks start now: queues with priority and width, groups with a ceiling, rates, and aging (W4).
//
// I1. Pure and deterministic: the same tables and `now` give the same answer, in starting order.
// I2. No queue exceeds its width, no group its ceiling, no queue its rate, and all together not `maxConcurrent`.
// I3. Nobody waits for ever: each `agingMs` of waiting counts as one step of priority, so that a task passes every one
//     that is `d` steps higher and came more than `d * agingMs` later.

import type { Instant } from "../../kernel/time.ts";
import type { OnConflict } from "../../records/workflow.ts";

export interface QueueSettings {
  name: string;
  /** The greater, the sooner. */
  priority: number;
  /** Ceiling and guaranteed share at once. */
  width: number;
  /** At most `max` starts in any `perMs`. */
  rate?: { max: number; perMs: number } | undefined;
}

export interface AdmitSettings {
  queues: readonly QueueSettings[];
  /** @source SEMANTICS W3: 8. */
  maxConcurrent: number;
  /** Waiting that counts as one step of priority. Default 60 s. */
  agingMs?: number | undefined;
}

export interface Group {
  key: string;
  max: number;
  onConflict: OnConflict;
}

export interface WaitingTask {
  id: string;
  /** Undefined or unknown = the queue `default`, else the one with the lowest priority. */
  queue: string | undefined;
  /** Of the task itself; it counts instead of the queue's. */
  priority?: number | undefined;
  enqueuedAt: Instant;
  /** Whose it is: among equals, who has the fewest tasks running goes first. */
  owner?: string | undefined;
  group?: Group | undefined;
}

export interface RunningTask {
  id: string;
  queue: string | undefined;
  startedAt: Instant;
  owner?: string | undefined;
  group?: Pick<Group, "key"> | undefined;
  /** It has been asked to end, so it makes room by itself. */
  isStopping?: boolean | undefined;
}

export interface Admission {
  start: { id: string; queue: string }[];
  /** `onConflict: skip`: the group is full, the newcomer does not run. */
  skip: { id: string; group: string }[];
  /** `onConflict: cancel`: the oldest of the group makes room; the newcomer starts when it has ended. */
  cancel: { id: string; group: string; for: string }[];
}

/** Earlier starts that still count for a rate, running or not. */
export type Starts = readonly { queue: string; at: Instant }[];

const AGING_MS = 60_000;

/** What starts, what is skipped, and what is cancelled to make room. */
export function admit(
  settings: AdmitSettings,
  {
    waiting,
    running,
    starts = [],
  }: { waiting: readonly WaitingTask[]; running: readonly RunningTask[]; starts?: Starts },
  now: Instant,
): Admission {
  const room = countRoom(settings, { running, starts, now });
  const answer: Draft = { start: [], skip: [], cancel: [], newcomers: new Map() };
  const left = waiting.map((task) => ({ task, queue: queueOf(settings.queues, task.queue) }));
  while (room.total > 0 && left.length > 0) {
    const best = nextOf(left, { settings, room, now });
    if (best < 0) break;
    const [chosen] = left.splice(best, 1);
    if (chosen) take(chosen, { room, answer });
  }
  for (const { task } of left) conflict(task, { room, running, answer });
  const { start, skip, cancel } = answer;
  return { start, skip, cancel };
}

/** The queue a task waits in. Without any queues there is one without a width. */
export function queueOf(queues: readonly QueueSettings[], name: string | undefined): QueueSettings {
  const named =
    queues.find((queue) => queue.name === name) ?? queues.find((queue) => queue.name === "default");
  if (named) return named;
  const lowest = [...queues].sort((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1))[0];
  return lowest ?? { name: "default", priority: 0, width: Number.POSITIVE_INFINITY };
}

/** W4: shares that together exceed the ceiling are no shares. A sentence for people, or undefined. */
export function whyOversubscribed({ queues, maxConcurrent }: AdmitSettings): string | undefined {
  const sum = queues.reduce((total, queue) => total + queue.width, 0);
  if (sum <= maxConcurrent) return undefined;
  return `the queues' concurrency adds up to ${sum}, which is more than maxConcurrentTasks (${maxConcurrent})`;
}

interface Draft extends Admission {
  newcomers: Map<string, number>;
}

interface Room {
  total: number;
  queues: Map<string, number>;
  groups: Map<string, number>;
  owners: Map<string, number>;
}

function countRoom(
  settings: AdmitSettings,
  { running, starts, now }: { running: readonly RunningTask[]; starts: Starts; now: Instant },
): Room {
  const room: Room = {
    total: settings.maxConcurrent - running.length,
    queues: new Map(),
    groups: new Map(),
    owners: new Map(),
  };
  const used = new Map<string, number>();
  for (const task of running) {
    count(used, queueOf(settings.queues, task.queue).name);
    count(room.groups, task.group?.key);
    count(room.owners, task.owner);
  }
  for (const queue of settings.queues) {
    const free = queue.width - (used.get(queue.name) ?? 0);
    room.queues.set(queue.name, Math.min(free, rateLeft(queue, starts, now)));
  }
  return room;
}

function rateLeft({ name, rate }: QueueSettings, starts: Starts, now: Instant): number {
  if (!rate) return Number.POSITIVE_INFINITY;
  return rate.max - starts.filter((start) => start.queue === name && start.at > now - rate.perMs).length;
}

interface Placed {
  task: WaitingTask;
  queue: QueueSettings;
}

/** The position of who is next among those that may start; -1 when nobody may. */
function nextOf(
  left: readonly Placed[],
  { settings, room, now }: { settings: AdmitSettings; room: Room; now: Instant },
): number {
  const agingMs = settings.agingMs ?? AGING_MS;
  let best = -1;
  let bestRank: readonly (number | string)[] = [];
  for (const [index, { task, queue }] of left.entries()) {
    if ((room.queues.get(queue.name) ?? Number.POSITIVE_INFINITY) <= 0 || !hasGroupRoom(task, room)) continue;
    const steps =
      (task.priority ?? queue.priority) + Math.floor(Math.max(0, now - task.enqueuedAt) / agingMs);
    const rank = [-steps, room.owners.get(task.owner ?? "") ?? 0, task.enqueuedAt, task.id];
    if (best < 0 || isBefore(rank, bestRank)) [best, bestRank] = [index, rank];
  }
  return best;
}

function isBefore(a: readonly (number | string)[], b: readonly (number | string)[]): boolean {
  for (const [index, left] of a.entries()) {
    const right = b[index];
    if (right === undefined || left === right) continue;
    return left < right;
  }
  return false;
}

function hasGroupRoom({ group }: WaitingTask, room: Room): boolean {
  return group === undefined || (room.groups.get(group.key) ?? 0) < group.max;
}

function take({ task, queue }: Placed, { room, answer }: { room: Room; answer: Admission }): void {
  room.total -= 1;
  room.queues.set(queue.name, (room.queues.get(queue.name) ?? Number.POSITIVE_INFINITY) - 1);
  count(room.groups, task.group?.key);
  count(room.owners, task.owner);
  answer.start.push({ id: task.id, queue: queue.name });
}

/** A group that is full: the newcomer waits, goes, or the oldest makes room (one for each newcomer). */
function conflict(
  task: WaitingTask,
  { room, running, answer }: { room: Room; running: readonly RunningTask[]; answer: Draft },
): void {
  const { group } = task;
  if (!group || hasGroupRoom(task, room) || group.onConflict === "queue") return;
  if (group.onConflict === "skip") {
    answer.skip.push({ id: task.id, group: group.key });
    return;
  }
  const going = answer.cancel.filter((item) => item.group === group.key).map((item) => item.id);
  const members = running.filter((item) => item.group?.key === group.key);
  const makingRoom = members.filter((item) => item.isStopping).length;
  // Newcomers before this one have taken the room that is being made.
  const newcomers = answer.newcomers.get(group.key) ?? 0;
  answer.newcomers.set(group.key, newcomers + 1);
  if (newcomers < makingRoom) return;
  const oldest = members
    .filter((item) => !item.isStopping && !going.includes(item.id))
    .sort((a, b) => a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1))[0];
  if (oldest) answer.cancel.push({ id: oldest.id, group: group.key, for: task.id });
}

function count(counts: Map<string, number>, key: string | undefined): void {
  if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
}
