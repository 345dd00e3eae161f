// Each adapter against each way in which its platform can refuse: the same questions to all of them, in each one's own words.
// The server checks every request; what it was asked wrongly fails the test.

import { describe, expect, test } from "vitest";
import { adapterTable } from "../../../src/deliver/adapter-table.ts";
import { decideTry } from "../../../src/deliver/decide-try.ts";
import { sendRow } from "../../../src/deliver/try-row.ts";
import type { SendResult } from "../../../src/records/delivery.ts";
import { deliveryRow, redact, START } from "../fixtures.ts";
import { serve } from "../loopback.ts";
import { type Answer, complaintOf, ERROR_CASES, type ErrorCase, messageIn } from "./error-table.ts";
import { clock, never, requestTo } from "./fixtures.ts";

const CASES = Object.entries(ERROR_CASES);
const having = (key: "badForm" | "threadGone") => CASES.filter(([, one]) => one[key] !== undefined);

/** Sends once to a server that answers in turn, the last answer again and again. */
async function send(one: ErrorCase & { body?: string }, ...answers: Answer[]) {
  const complaints: string[] = [];
  let turn = 0;
  const server = await serve((response, { socket }, received) => {
    const complaint = complaintOf(received, one);
    if (complaint) complaints.push(complaint);
    const answer = answers[Math.min(turn++, answers.length - 1)];
    if (!answer) return void socket.destroy();
    const [status, body, headers = {}] = answer;
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  const adapter = one.adapter(new URL(server.url).origin);
  const request = requestTo(
    { platform: adapter.platform, ...one.target },
    one.body ? { body: one.body } : {},
  );
  const result: SendResult = await adapter.send(request, never);
  expect(complaints).toEqual([]);
  const texts = server.received.map((received) => messageIn(received, one));
  return { result, texts, adapter, requests: server.received };
}

const saying = (one: ErrorCase, body: string) => ({ ...one, body });

/** Without what no reader sees. */
const seen = (text: string | undefined) => (text ?? "").replaceAll("\u200b", "");

describe("every platform, in its own words", () => {
  test.each(CASES)("%s: its true request is taken, and its answer is the receipt", async (_name, one) => {
    const { result, texts } = await send(one, one.delivered);
    expect(result).toMatchObject({ kind: "delivered", receipt: { at: START } });
    expect(texts).toHaveLength(1);
  });

  test.each(CASES)("%s: too often waits as long as it says", async (_name, one) => {
    const [answer, afterMs] = one.tooOften;
    const { result, texts } = await send(one, answer);
    expect(result).toMatchObject({ kind: "retry", afterMs });
    expect(texts).toHaveLength(1);
  });

  test.each(having("badForm"))("%s: a refused markup goes once more as plain text", async (_name, one) => {
    const { result, texts } = await send(one, one.badForm!, one.delivered);
    expect(result).toMatchObject({
      kind: "delivered",
      receipt: { note: expect.stringContaining("the markup was refused: sent as plain text") },
    });
    expect(texts).toHaveLength(2);
    expect(seen(texts[1])).toMatch(/disk is at 91 % &(amp;)? rising/);

    const twice = await send(one, one.badForm!);
    expect(twice.result.kind).toBe("refused");
    expect(twice.texts).toHaveLength(2);
  });

  test.each(CASES)("%s: thrown out, or gone, is final after one request", async (_name, one) => {
    for (const answer of one.gone) {
      const { result, texts } = await send(one, answer);
      expect(result.kind, JSON.stringify(answer)).toBe("refused");
      expect(texts, JSON.stringify(answer)).toHaveLength(1);
    }
  });

  test.each(having("threadGone"))("%s: a thread that is gone falls back to the chat", async (_name, one) => {
    const { result, texts, requests } = await send(one, one.threadGone!, one.delivered);
    const { thread = "" } = one.target;
    expect(result).toMatchObject({
      kind: "delivered",
      receipt: { note: expect.stringContaining(`thread ${thread} is gone: sent to the chat`) },
    });
    const where = requests.map(({ path, body }) => `${path} ${body}`);
    expect(where[0]).toContain(thread);
    expect(where[1]).not.toContain(thread);
    expect(texts[1]).toContain("(The thread is gone; this message was meant for it.)");
  });

  test.each(CASES)("%s: 413 is final", async (_name, one) => {
    const { result, texts } = await send(one, one.tooLarge);
    expect(result.kind).toBe("refused");
    expect(texts).toHaveLength(1);
  });

  test.each(CASES)("%s: a server in trouble is a retry, and its Retry-After is heard", async (_name, one) => {
    expect((await send(one, [500, "internal error"])).result).toMatchObject({ kind: "retry" });
    const { result } = await send(one, [503, "unavailable", { "retry-after": "30" }]);
    expect(result).toMatchObject({ kind: "retry", afterMs: 30_000 });
  });

  test.each(CASES)(
    "O3, %s: a gateway that lost the answer is a doubt where a repeat would be one",
    async (_name, one) => {
      const { result, adapter } = await send(one, [502, "<html>bad gateway</html>"]);
      expect(result.kind).toBe(adapter.repeatability === "idempotent" ? "retry" : "unknown");
    },
  );

  test.each(CASES)(
    "O3 (hermes#58818), %s: what follows a cut is what its adapter declares",
    async (_name, one) => {
      const asked: string[] = [];
      const server = await serve((response, { socket }, { method, path }) => {
        if (method !== "GET") return void socket.destroy();
        asked.push(path ?? "");
        response.end("[]");
      });
      const adapter = one.adapter(new URL(server.url).origin);
      const { repeatability } = adapter;
      const target = { platform: adapter.platform, ...one.target, text: adapter.platform };
      const row = deliveryRow({ target, repeatability });

      const result = await sendRow(
        { adapters: adapterTable([adapter]), clock, root: "/", redact },
        row,
        never,
      );
      const { kind } = decideTry(row, result, { now: START, random: 0.5 });

      const posts = server.received.filter(({ method }) => method !== "GET");
      expect(posts, "sent once within a try").toHaveLength(1);
      // Only Discord's bot can be asked; its webhook's messages cannot.
      const canAsk = repeatability === "probe" && !row.target.chat?.startsWith("default");
      expect(asked).toHaveLength(canAsk ? 1 : 0);
      expect(kind).toBe(repeatability === "idempotent" || canAsk ? "retry" : "unknown");
    },
  );
});

/** What rings everybody somewhere; `ada@all.example` is no mention. */
const RINGING =
  "@everyone @here @channel @all @room <!channel> <users/all> <@all> <at id=all></at> ada@all.example";
const RINGS = /(?<![\w.<])@(?:everyone|here|channel|all|room)/;

describe("mass mentions ring nobody", () => {
  test.each(CASES)("%s: neither marked up nor as plain text", async (name, one) => {
    const { texts } = await send(saying(one, RINGING), one.badForm ?? one.delivered, one.delivered);
    expect(texts).toHaveLength(one.badForm ? 2 : 1);
    for (const text of texts) {
      // A webhook's receiver is a program: it gets the text as it is.
      if (name === "webhook") expect(text).toBe(RINGING);
      else expect(text).not.toMatch(RINGS);
      if (one.rings) expect(text).not.toMatch(one.rings);
      expect(text).toContain("ada@all.example");
    }
  });
});

describe("a redirect", () => {
  test.each(CASES)("%s: into the private network is refused, unasked", async (_name, one) => {
    const inside = await serve((response) => response.end("secrets of the network"));
    const url = `http://127.0.0.2:${inside.port}/in`;
    const { result } = await send(one, [307, "", { location: url }]);
    expect(result).toMatchObject({ kind: "refused", error: expect.stringMatching(/private|refused|allow/i) });
    expect(inside.received).toEqual([]);
  });

  test.each(
    CASES.filter(([, { request }]) => /^(authorization|x-gotify-key)$/.test(request.header?.[0] ?? "")),
  )("%s: to another origin does not take the credentials along", async (_name, one) => {
    const other = await serve((response) => response.end("{}"));
    await send(one, [307, "", { location: other.url }]);
    expect(other.received).toHaveLength(1);
    expect(other.received[0]?.headers).not.toHaveProperty(one.request.header?.[0] ?? "");
  });
});
