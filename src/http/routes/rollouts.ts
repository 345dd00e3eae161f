// Rollouts of executors' versions.

import * as z from "zod/mini";
import {
  endRollout,
  listRollouts,
  removeRollout,
  showRollout,
  startRollout,
} from "../../app/executors/rollouts.ts";
import { parseBody } from "../bodies.ts";
import { rolloutRequestSchema, rolloutSchema } from "../contract/rollouts.ts";
import { answer, type Route, route } from "../route.ts";

const tag = "executors";
const path = "/executors/{id}/rollout";
const one = { 200: { description: "The rollout, and what its versions did.", schema: rolloutSchema } };

const list = route({
  method: "get",
  path: "/rollouts",
  operationId: "listRollouts",
  summary: "Which executors' tasks are shared between versions, or pinned to one.",
  tag,
  answers: { 200: { description: "Rollouts, by executor.", schema: z.array(rolloutSchema) } },
  handle: async ({ context }) => answer(await listRollouts(context)),
});

const show = route({
  ...{ method: "get", path, operationId: "showRollout", tag, answers: one },
  summary: "How the rollout of one executor stands.",
  handle: async ({ context, path: { id = "" } }) => answer(await showRollout(context, id)),
});

const start = route({
  ...{ method: "put", path, operationId: "startRollout", tag, answers: one, changesJobs: true },
  summary: "Give a version a share of the executor's tasks, or another share.",
  body: { types: ["application/json"], schema: rolloutRequestSchema, isRequired: true },
  handle: async ({ context, path: { id = "" }, body }) =>
    answer(await startRollout(context, id, parseBody(body, rolloutRequestSchema))),
});

const stop = route({
  ...{ method: "post", path: `${path}/stop`, operationId: "stopRollout", tag, answers: one },
  summary: "Every task goes to the baseline.",
  changesJobs: true,
  handle: async ({ context, path: { id = "" } }) => answer(await endRollout(context, id, "stopped")),
});

const finish = route({
  ...{ method: "post", path: `${path}/finish`, operationId: "finishRollout", tag, answers: one },
  summary: "Every task goes to the version.",
  changesJobs: true,
  handle: async ({ context, path: { id = "" } }) => answer(await endRollout(context, id, "finished")),
});

const remove = route({
  ...{ method: "delete", path, operationId: "removeRollout", tag, answers: one, changesJobs: true },
  summary: "No rollout any more: the newest version does every task. Answers what it was.",
  handle: async ({ context, path: { id = "" } }) => answer(await removeRollout(context, id)),
});

export const rolloutRoutes: readonly Route[] = [list, show, start, stop, finish, remove];
