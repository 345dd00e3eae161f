import { describe, expect, test } from "vitest";
import { readOrigin } from "../../src/deliver/origin.ts";
import {
  displayTarget,
  parseHomes,
  parseTarget,
  parseTargets,
  selectorText,
} from "../../src/deliver/targets.ts";
import { isFault } from "../../src/kernel/errors.ts";
import type { TargetDocument } from "../../src/records/job.ts";
import { adapters } from "./fixtures.ts";

const platforms = adapters();
const texts = (...documents: TargetDocument[]) => parseTargets(documents, platforms).map(selectorText);

function faultOf(act: () => unknown) {
  try {
    act();
  } catch (error) {
    if (isFault(error))
      return { code: error.code, message: error.message, hint: error.hint, details: error.details };
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("targets", () => {
  test.each([
    ["local", { kind: "target", target: { platform: "local", text: "local" } }],
    ["stdout", { kind: "target", target: { platform: "stdout", text: "stdout" } }],
    ["origin", { kind: "origin" }],
    ["all", { kind: "all" }],
    ["telegram", { kind: "home", platform: "telegram" }],
    [
      "telegram:-1001:17",
      {
        kind: "target",
        target: { platform: "telegram", chat: "-1001", thread: "17", text: "telegram:-1001:17" },
      },
    ],
    ["slack:#ops", { kind: "target", target: { platform: "slack", chat: "#ops", text: "slack:#ops" } }],
    [
      "webhook:https://example.org/in?k=1",
      {
        kind: "target",
        target: {
          platform: "webhook",
          url: "https://example.org/in?k=1",
          text: "webhook:https://example.org/in?k=1",
        },
      },
    ],
    ["webhook:ops", { kind: "target", target: { platform: "webhook", chat: "ops", text: "webhook:ops" } }],
    [
      "email:ada@example.org",
      {
        kind: "target",
        target: { platform: "email", chat: "ada@example.org", text: "email:ada@example.org" },
      },
    ],
    [
      "profile:work/telegram:-1001",
      {
        kind: "target",
        target: { platform: "telegram", chat: "-1001", profile: "work", text: "profile:work/telegram:-1001" },
      },
    ],
    [
      "profile:work/slack",
      { kind: "target", target: { platform: "slack", profile: "work", text: "profile:work/slack" } },
    ],
  ])("%s is read once into its parts", (text, selector) => {
    expect(parseTarget(text, platforms)).toEqual(selector);
  });

  test("O5: a Matrix room holds `:`, so only the adapter reads the address", () => {
    expect(parseTarget("matrix:!abc:example.org:8448:$event:x", platforms)).toEqual({
      kind: "target",
      target: {
        platform: "matrix",
        chat: "!abc:example.org:8448",
        thread: "$event:x",
        text: "matrix:!abc:example.org:8448:$event:x",
      },
    });
    expect(parseTarget("matrix:#ops:example.org", platforms)).toMatchObject({
      target: { chat: "#ops:example.org" },
    });
  });

  test("O5: {platform, chat, thread} means the same as the text", () => {
    expect(parseTarget({ platform: "telegram", chat: "-1001", thread: "17" }, platforms)).toEqual(
      parseTarget("telegram:-1001:17", platforms),
    );
    expect(parseTarget({ platform: "matrix", chat: "!abc:example.org" }, platforms)).toEqual(
      parseTarget("matrix:!abc:example.org", platforms),
    );
    expect(parseTarget({ platform: "slack" }, platforms)).toEqual({ kind: "home", platform: "slack" });
  });

  test("O5: an id that was read as a number beyond 2^53 has lost digits and is refused with `quote it`", () => {
    const document = JSON.parse('{"platform": "telegram", "chat": -10012345678901234567}') as TargetDocument;

    const fault = faultOf(() => parseTargets([document], platforms));

    expect(fault.code).toBe("target.refused");
    expect(fault.hint).toMatch(/quote it/i);
  });

  test("hermes#47056: a comma list keeps every address, in order, each once", () => {
    expect(
      texts("telegram:-1001, slack:#ops,local", "telegram:-1001", { platform: "slack", chat: "#ops" }),
    ).toEqual(["telegram:-1001", "slack:#ops", "local"]);
  });

  test("a target's text reads back as the same target, commas in a URL included", () => {
    const [selector] = parseTargets(
      [{ platform: "webhook", url: "https://example.org/in?to=a,b" }],
      platforms,
    );
    const text = selectorText(selector!);

    expect(texts(text)).toEqual([text]);
    expect(text).toBe("webhook:https://example.org/in?to=a%2Cb");
  });

  test("an unknown platform is refused with the nearest one and the list", () => {
    const fault = faultOf(() => texts("telegarm:-1001"));

    expect(fault.code).toBe("target.unknown");
    expect(fault.message).toContain("telegarm");
    expect(fault.hint).toContain('Did you mean "telegram"?');
    expect(fault.details?.known).toEqual(expect.arrayContaining(["local", "origin", "telegram", "webhook"]));
  });

  test.each([
    ["", "empty"],
    ["origin:x", "takes no address"],
    ["local:/etc", "takes no address"],
    ["telegram:", "not an address of telegram"],
    ["telegram:a b", "not an address of telegram"],
    ["email:nobody", "not an address of email"],
    ["webhook:ftp://example.org", "not an address of webhook"],
    ["profile:work", "profile:NAME/<target>"],
    ["profile:../x/local", "cannot be read"],
    ["profile:work/origin", "no meaning in another home"],
    ["profile:a/profile:b/local", "not followed"],
  ])("%j is refused, not guessed at", (text, why) => {
    const fault = faultOf(() => parseTargets([text], platforms));

    expect(fault.code).toBe("target.refused");
    expect(fault.message).toContain(why);
  });

  test("credentials in a URL are refused, and the message does not repeat them", () => {
    const fault = faultOf(() => texts("webhook:https://ada:hunter2@example.org/in"));

    expect(fault.code).toBe("target.refused");
    expect(`${fault.message} ${fault.hint}`).not.toContain("hunter2");
    expect(fault.hint).toContain("named webhook");
  });

  test("a webhook's path is its password: a screen shows its host only", () => {
    const selector = parseTarget("webhook:https://hooks.example.org/services/T0/s3cr3t", platforms);

    if (selector.kind !== "target") throw new Error("expected an address");
    expect(displayTarget(selector.target)).toBe("webhook:https://hooks.example.org/…");
  });

  test("home channels are read by their platforms, and a wrong one is refused", () => {
    const homes = parseHomes({ telegram: "-1001:17", matrix: { chat: "!abc:example.org" } }, platforms);

    expect([...homes.values()].map(({ text }) => text)).toEqual([
      "telegram:-1001:17",
      "matrix:!abc:example.org",
    ]);
    expect(faultOf(() => parseHomes({ telegram: "not a chat" }, platforms)).code).toBe("target.refused");
  });
});

describe("origin", () => {
  test("O4: the flag wins over the environment, which wins over the call", () => {
    const environment = { platform: "slack", chat: "C1", thread: undefined };
    const call = { platform: "discord", chat: "9" };

    expect(readOrigin({ flag: "telegram:-1001:17", environment, call }, platforms)).toEqual({
      platform: "telegram",
      chat: "-1001",
      thread: "17",
    });
    expect(readOrigin({ environment, call }, platforms)).toEqual({ platform: "slack", chat: "C1" });
    expect(readOrigin({ environment: {}, call }, platforms)).toEqual({ platform: "discord", chat: "9" });
    expect(readOrigin({}, platforms)).toBeUndefined();
  });

  test("an origin nobody can speak to is refused where it is given", () => {
    expect(faultOf(() => readOrigin({ environment: { platform: "icq", chat: "1" } }, platforms)).code).toBe(
      "target.unknown",
    );
  });
});
