import { describe, expect, test } from "vitest";
import { jobTargets, LOCAL, requireRoute, route } from "../../src/deliver/route.ts";
import { parseTargets } from "../../src/deliver/targets.ts";
import { isFault } from "../../src/kernel/errors.ts";
import { chat, context } from "./fixtures.ts";

const select = (text: string) => parseTargets([text], context().adapters);
const home = chat("home");

function codeOf(act: () => void): string | undefined {
  try {
    act();
  } catch (error) {
    if (isFault(error)) return error.code;
    throw error;
  }
  return undefined;
}

describe("routing", () => {
  test("O4: a home resolves when the row is made, so a changed home moves later messages", () => {
    const selectors = select("chat");

    expect(route(selectors, context({ homes: new Map([["chat", home]]) })).targets).toEqual([home]);
    expect(route(selectors, context({ homes: new Map([["chat", chat("moved")]]) })).targets).toEqual([
      chat("moved"),
    ]);
  });

  test("O4: a platform without a home is unresolved with a reason, and the text goes to local", () => {
    expect(route(select("chat"), context())).toEqual({
      targets: [LOCAL],
      unresolved: [
        { target: { platform: "chat", text: "chat" }, reason: "noHome", message: "chat has no home channel" },
      ],
    });
  });

  test("O4: a platform without an adapter here is `notConfigured`, not dropped (hermes#47056)", () => {
    const { targets, unresolved } = route(select("telegram:-1001,chat:1"), context());

    expect(targets).toEqual([chat("1"), LOCAL]);
    expect(unresolved).toMatchObject([{ target: { text: "telegram:-1001" }, reason: "notConfigured" }]);
  });

  test("O4: `all` is every home; with none it is unresolved", () => {
    expect(route(select("all"), context({ homes: new Map([["chat", home]]) })).targets).toEqual([home]);
    expect(route(select("all"), context()).unresolved).toMatchObject([{ reason: "noHome" }]);
  });

  test("two ways to one address are one message", () => {
    const homes = new Map([["chat", home]]);
    const origin = { platform: "chat", chat: "home" };

    expect(route(select("origin,all,chat,chat:home"), context({ homes, origin })).targets).toEqual([home]);
  });

  test("O4: `origin` is the chat the job came from, thread included; its platform's home when it names no chat", () => {
    const selectors = select("origin");

    expect(
      route(selectors, context({ origin: { platform: "chat", chat: "7", thread: "3" } })).targets,
    ).toEqual([{ platform: "chat", chat: "7", thread: "3", text: "chat:7:3" }]);
    const homes = new Map([["chat", home]]);
    expect(route(selectors, context({ homes, origin: { platform: "chat" } })).targets).toEqual([home]);
    expect(route(selectors, context({ origin: { platform: "local" } })).targets).toEqual([LOCAL]);
  });

  test("O4: at creation `origin` without an origin, a missing home and an unusable platform are refused", () => {
    expect(codeOf(() => requireRoute(select("origin"), context()))).toBe("target.no-origin");
    expect(codeOf(() => requireRoute(select("chat"), context()))).toBe("target.refused");
    expect(codeOf(() => requireRoute(select("telegram:-1001"), context()))).toBe("target.refused");
    expect(codeOf(() => requireRoute(select("webhook:nobody"), context()))).toBe("target.refused");
    expect(codeOf(() => requireRoute(select("webhook:http://169.254.169.254/"), context()))).toBe(
      "target.refused",
    );
    expect(
      codeOf(() => requireRoute(select("chat:1,local,webhook:https://example.org/"), context())),
    ).toBeUndefined();
  });

  test("O1: deliver defaults to origin, else local; onFailure to deliver; [] stays none", () => {
    const { adapters } = context();
    const local = [{ kind: "target", target: LOCAL }];

    expect(jobTargets({}, adapters)).toEqual({ deliver: local, onFailure: local });
    expect(jobTargets({ origin: { platform: "chat", chat: "1" } }, adapters).deliver).toEqual([
      { kind: "origin" },
    ]);
    expect(jobTargets({ deliver: ["chat:1"], onFailure: [] }, adapters)).toEqual({
      deliver: select("chat:1"),
      onFailure: [],
    });
  });
});
