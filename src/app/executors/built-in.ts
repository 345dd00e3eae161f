// Executors that every home has: the seed's names (`shell_exec`, `email_notify`), and what workflows' own words mean
// (`script`, `http`).

import { sendRequest } from "../../orchestrate/executors/http-executor.ts";
import type { Executor, ExecutorCall, JsonSchema } from "../../records/executor.ts";
import { deliverMessage } from "./deliver-attempt.ts";
import { httpDeps } from "./http-deps.ts";
import { makeExecutor } from "./make-executor.ts";
import { inFolder } from "./read-folder.ts";
import type { Room } from "./room.ts";
import { ANY_PLACE, runCommandLike, scriptAttempt } from "./script-attempt.ts";

const TEXT = { type: "string" };
const TEXTS = { type: "object" };

const params = (properties: JsonSchema, required: string[], additionalProperties = false): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties,
});

export function builtInExecutors(room: Room): Executor[] {
  return [shellExec(room), emailNotify(room), script(room), http(room)];
}

function shellExec(room: Room): Executor {
  return makeExecutor(
    {
      name: "shell_exec",
      kind: "shell",
      source: "built in",
      description:
        "Runs a shell command; its result is its last line of JSON, else {stdout, stderr, exitCode}.",
      input: params({ command: TEXT, cwd: TEXT, env: TEXTS }, ["command"]),
      shellParams: ["command"],
    },
    (call) => {
      const { command, cwd, env } = call.params;
      const literalEnv = textsOf(env);
      const work = { script: "shell_exec", command: String(command), args: [] };
      const workdir = typeof cwd === "string" ? cwd : call.workdir;
      return runCommandLike(room, { work, literalEnv, place: ANY_PLACE }, { ...call, workdir });
    },
  );
}

const textsOf = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries((value ?? {}) as Record<string, unknown>).map(([name, one]) => [
      name,
      typeof one === "string" ? one : JSON.stringify(one),
    ]),
  );

function emailNotify(room: Room): Executor {
  return makeExecutor(
    {
      name: "email_notify",
      kind: "deliver",
      source: "built in",
      description: "Mails a message to the address, else to the home of deliver.email.",
      input: params({ subject: TEXT, body: {}, to: {} }, ["subject", "body"]),
      effects: "idempotent",
    },
    (call) => {
      const { subject, body, to } = call.params;
      const text = typeof body === "string" ? body : JSON.stringify(body, null, 2);
      const addresses =
        to === undefined || to === null ? ["email"] : [to].flat().map((one) => `email:${String(one)}`);
      return deliverMessage(room, { to: addresses, text: `${String(subject)}\n\n${text}` }, call);
    },
  );
}

/** A workflow's `script:`: a file of scripts/ (or executors/), with the task's params. */
function script(room: Room): Executor {
  return makeExecutor(
    {
      name: "script",
      kind: "script",
      source: "built in",
      description: "Runs a file of scripts/ with the other params as its arguments and variables.",
      input: params({ script: TEXT }, ["script"], true),
    },
    (call) => {
      const { script: file, ...rest } = call.params;
      return fileAttempt(room, String(file))({ ...call, params: rest });
    },
  );
}

function fileAttempt(room: Room, file: string) {
  const { executorsFolder, scriptsFolder } = room.context.home.paths;
  const folder = inFolder(executorsFolder, file) === undefined ? scriptsFolder : executorsFolder;
  return scriptAttempt(room, {
    folder,
    script: file,
    args: [],
    pass: "both",
    input: undefined,
    place: ANY_PLACE,
  });
}

/** A workflow's `http:`; its templates are filled by the workflow. */
function http(room: Room): Executor {
  const input = params(
    {
      url: TEXT,
      method: { type: "string", enum: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] },
      headers: TEXTS,
      query: TEXTS,
      body: {},
      allowPrivate: { type: "array", items: TEXT },
    },
    ["url"],
  );
  return makeExecutor(
    {
      ...{ name: "http", kind: "http", source: "built in", input },
      description: "Makes one HTTP request; a JSON answer is its result.",
    },
    (call) => requestOf(room, call),
  );
}

function requestOf({ context }: Room, call: ExecutorCall) {
  const { url, method, headers, query, body, allowPrivate = [] } = call.params;
  return sendRequest(
    httpDeps(context),
    {
      url: String(url),
      method: method as string | undefined,
      headers: textsOf(headers),
      query: (query ?? {}) as Record<string, unknown>,
      body,
      allowPrivate: allowPrivate as string[],
      isRepeatable: false,
    },
    call,
  );
}
