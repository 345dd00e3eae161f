import { describe, expect, test } from "vitest";
import { readChatCommand } from "../../../src/app/chat/chat-command.ts";
import { parseSchedule } from "../../../src/schedule/grammar.ts";

function isSchedule(text: string): boolean {
  try {
    parseSchedule(text, { zone: "UTC", now: 0, anchor: 0 });
    return true;
  } catch {
    return false;
  }
}

const read = (text: string) => readChatCommand(text, { botName: "NightBot", isSchedule });

describe("a line from a chat", () => {
  test.each([
    ["/jobs", { kind: "jobs" }],
    ["/jobs@nightbot", { kind: "jobs" }],
    ["/run disk-watch", { kind: "run", job: "disk-watch" }],
    ["/run Disk watch", { kind: "run", job: "Disk watch" }],
    ["/pause disk-watch", { kind: "pause", job: "disk-watch", reason: undefined }],
    [
      "/pause disk-watch until the disk is here",
      { kind: "pause", job: "disk-watch", reason: "until the disk is here" },
    ],
    ["/resume disk-watch", { kind: "resume", job: "disk-watch" }],
    ["/help", { kind: "help" }],
    ["/start", { kind: "help" }],
  ])("%s", (text, command) => {
    expect(read(text)).toEqual(command);
  });

  test.each([
    ["/add every 30m check the site", "every 30m", "check the site"],
    ["/add every monday 9am sum up last week", "every monday 9am", "sum up last week"],
    ["/add weekdays at 18:00 What broke today?", "weekdays at 18:00", "What broke today?"],
    ["/add in 30m remind me\nof the oven", "in 30m", "remind me\nof the oven"],
    ["/add @daily look", "@daily", "look"],
    ["/add 0 9 * * 1 plan the week", "0 9 * * 1", "plan the week"],
    ['/add "0 9 * * 1" 3 things to plan', "0 9 * * 1", "3 things to plan"],
    ["/add “every 2h” with the quotes of a telephone", "every 2h", "with the quotes of a telephone"],
  ])("T2: %j is a schedule and a prompt", (text, schedule, prompt) => {
    expect(read(text)).toEqual({ kind: "add", schedule, prompt });
  });

  test.each([
    "/add",
    "/add every 30m",
    "/add soon do it",
    '/add "soon" do it',
    "/run",
    "/pause",
    "/delete all",
  ])("%j is answered with how it is written", (text) => {
    expect(read(text)).toMatchObject({ kind: "unreadable", usage: expect.stringContaining("/") });
  });

  test.each(["hello", "run disk-watch", "/jobs@OtherBot", "see /jobs", "/", "//jobs"])(
    "%j is no command of ours",
    (text) => {
      expect(read(text)).toBeUndefined();
    },
  );
});
