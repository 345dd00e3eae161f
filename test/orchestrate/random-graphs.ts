// Random workflows, and how their attempts end: a stable function of graph, unit and the number of the outcome.

import fc from "fast-check";
import type { AttemptOutcome } from "../../src/orchestrate/graph/progress.ts";
import type { TaskDocument } from "../../src/records/workflow.ts";
import { formatWorkflowDocument } from "../../src/records/workflow-document.ts";
import { type Answer, bad, ok } from "./runs.ts";

export interface Graph {
  /** Edges lead from lower to higher numbers, so there is no cycle. */
  tasks: TaskDocument[];
  /** Handlers of a graph that went well, and of one that did not. */
  handlers: { success: string[]; failure: string[] };
  /** Executors that are down all the time. */
  offline: string[];
  seed: number;
}

const idOf = (index: number) => `t${index}`;

export const graphs: fc.Arbitrary<Graph> = fc.integer({ min: 1, max: 9 }).chain((size) =>
  fc.record({
    seed: fc.integer({ min: 1, max: 1_000_000 }),
    tasks: fc.tuple(...Array.from({ length: size }, (_, index) => taskArbitrary(index, size))),
    handlers: fc.record({
      success: fc.subarray(["well", "either"]),
      failure: fc.subarray(["ill", "either"]),
    }),
    offline: fc.subarray(["x", "spare"], { maxLength: 1 }),
  }),
);

function taskArbitrary(index: number, size: number): fc.Arbitrary<TaskDocument> {
  type Cause = NonNullable<TaskDocument["fallbackOn"]>;
  const some = (ids: string[]) => fc.subarray(ids, { maxLength: Math.min(2, ids.length) });
  const below = some(Array.from({ length: index }, (_, at) => idOf(at)));
  const above = some(Array.from({ length: size - index - 1 }, (_, at) => idOf(index + 1 + at)));
  return fc
    .record({
      dependsOn: below,
      onSuccess: above,
      onFailure: above,
      onComplete: fc.tuple(fc.nat(3), above).map(([dice, ids]) => (dice === 0 ? ids : [])),
      join: fc.constantFrom("any" as const, "all" as const),
      effects: fc.constantFrom("none" as const, "idempotent" as const, "external" as const),
      retry: fc.record({
        max: fc.integer({ min: 0, max: 2 }),
        delay: fc.constant("1s"),
        on: fc.constantFrom<string[]>([], [], ["timeout"], ["unavailable"], ["exit:3", "timeout"]),
        notOn: fc.constantFrom<string[]>([], [], ["exit:3"]),
      }),
      fallback: fc.subarray(["spare", "spare2"]),
      fallbackOn: fc.constantFrom<Cause[]>(["offline", "failed"], ["offline"], ["failed"]),
      foreach: fc.option(
        fc.record({
          items: fc.constant<unknown[]>([1, 2, 3]),
          max: fc.integer({ min: 1, max: 3 }),
          failFast: fc.boolean(),
        }),
        { nil: undefined, freq: 4 },
      ),
      when: fc.constantFrom(
        undefined,
        undefined,
        undefined,
        "params.line == 'A'",
        "params.line == 'B'",
        "UPSTREAM",
      ),
      continueOn: fc.record({
        failure: fc.boolean(),
        skipped: fc.boolean(),
        exitCodes: fc.constantFrom<number[]>([], [3]),
      }),
    })
    .map(({ when, fallbackOn, ...task }) => {
      const [first] = task.dependsOn;
      const condition = when === "UPSTREAM" ? first && `${first}.status == 'succeeded'` : when;
      return { id: idOf(index), executor: "x", ...task, fallbackOn: [...fallbackOn], when: condition };
    });
}

export const HANDLER_IDS = ["well", "ill", "either"] as const;

export function yamlOf({ tasks, handlers }: Graph): string {
  const used = HANDLER_IDS.filter((id) => [...handlers.success, ...handlers.failure].includes(id));
  const bare = (id: string) => ({ id, shell: "x", retry: { max: 0 } });
  return formatWorkflowDocument({
    name: "random",
    defaults: { timeout: 0 },
    tasks: [...tasks, ...used.map(bare), bare("last")],
    handlers: { success: handlers.success, failure: handlers.failure },
    finally: ["last"],
  });
}

/** The `number`th outcome (from 1) that a unit has in this graph. */
export function outcomeOf({ seed }: Graph, unit: string, number: number): AttemptOutcome {
  let hash = seed;
  for (const character of `${unit}/${number}`) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0;
  const dice = (hash >>> 3) % 12;
  if (dice < 7) return ok(dice);
  if (dice < 8) return ok({ status: "error", message: "out of paper" });
  if (dice < 10) return bad("broken", dice === 9 ? 3 : 1);
  return dice === 10
    ? { state: "offline", error: { code: "offline", message: "gone" } }
    : { state: "timedOut", error: { code: "timeout", message: "late" } };
}

/** Outcomes by attempt number, for runs in which no attempt is lost. */
export const answerOf =
  (graph: Graph): Answer =>
  (unit, attempt) =>
    outcomeOf(graph, unit, attempt);
