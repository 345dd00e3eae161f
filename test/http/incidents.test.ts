import { expect, test } from "vitest";
import { queueRun } from "../../src/app/jobs.ts";
import { tickOnce } from "../../src/app/node.ts";
import { addScript, serve } from "./server.ts";

test("incidents: listed by job and state, shown, acknowledged with a note, refused a second time", async () => {
  const { call, context } = await serve();
  await addScript(context, "fail.sh", "#!/bin/sh\necho no disk >&2; exit 3\n");
  await call("POST", "/api/jobs", { body: { id: "fails", run: "fail.sh" } });
  await queueRun(context, "fails");
  await tickOnce({ context });

  const [incident] = (await call("GET", "/api/incidents?job=fails")).json;
  const acknowledged = await call("POST", `/api/incidents/${incident.id}/ack`, { body: { note: "on it" } });
  const again = await call("POST", `/api/incidents/${incident.id}/ack`);

  expect(incident).toMatchObject({ jobId: "fails", state: "open", failures: 1, told: "failing" });
  expect([acknowledged.status, acknowledged.json.state, acknowledged.json.acknowledgedBy]).toEqual([
    200,
    "acknowledged",
    "http",
  ]);
  expect([again.status, again.json.error.code]).toEqual([409, "input.conflict"]);
  expect((await call("GET", "/api/incidents?state=open")).json).toEqual([]);
  expect((await call("GET", `/api/incidents/${incident.id}`)).json).toEqual(acknowledged.json);
  expect((await call("GET", "/api/incidents/none")).status).toBe(404);
});
