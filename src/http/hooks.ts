// `POST /hooks/<name>`: the one door that has no token, since each message proves itself by its signature (S5).

import type { Hono } from "hono";
import type { Context } from "../app/context.ts";
import { receiveHook } from "../app/hooks/receive-hook.ts";
import { Fault } from "../kernel/errors.ts";
import { readBounded } from "./bodies.ts";

/** Adds the door. 202 = runs were started or skipped, each with its reason; 200 = it had come before. */
export function serveHooks(app: Hono, context: Context): void {
  app.post("/hooks/:name", async (c) => {
    const answer = await receiveHook(
      { ...context, actor: "hook" },
      {
        name: c.req.param("name"),
        header: (name) => c.req.header(name),
        headers: c.req.raw.headers,
        body: await readBounded(c.req.raw),
      },
    );
    return c.json(answer, answer.isNew ? 202 : 200);
  });
  app.all("/hooks/:name", (c) => {
    throw new Fault("input.method", `There is no ${c.req.method} ${c.req.path}.`, {
      hint: "Use POST.",
      details: { allowed: ["POST"] },
    });
  });
}
