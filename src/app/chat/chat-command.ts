// A line from a chat as a command: `/jobs`, `/run ID`, `/pause ID`, `/add <schedule> <prompt>`. Pure.
//
// I1. What is addressed to another bot, or is no command, is nobody's business here.

export type ChatCommand =
  | { kind: "jobs" | "help" }
  | { kind: "run" | "resume"; job: string }
  | { kind: "pause"; job: string; reason: string | undefined }
  | { kind: "add"; schedule: string; prompt: string }
  /** A command that cannot be read, with how it is written. */
  | { kind: "unreadable"; usage: string };

export const USAGE = [
  "/jobs",
  "/run JOB",
  "/pause JOB [why]",
  "/resume JOB",
  '/add SCHEDULE PROMPT, for instance: /add "every monday 9am" Sum up last week',
].join("\n");

/** A schedule of more words than this has to stand in quotes. */
const MOST_SCHEDULE_WORDS = 8;

/** Undefined = no command, or another bot's. `isSchedule` says whether a text is one. */
export function readChatCommand(
  text: string,
  { botName, isSchedule }: { botName: string | undefined; isSchedule(text: string): boolean },
): ChatCommand | undefined {
  const match = /^\/([a-z]+)(?:@(\w+))?(?:\s+([\s\S]*))?$/i.exec(text.trim());
  if (!match) return undefined;
  const [, word = "", addressee, rest = ""] = match;
  if (addressee !== undefined && addressee.toLowerCase() !== botName?.toLowerCase()) return undefined;
  const args = rest.trim();
  switch (word.toLowerCase()) {
    case "jobs":
      return { kind: "jobs" };
    case "run":
    case "resume": {
      const kind = word.toLowerCase() === "run" ? "run" : "resume";
      return args === "" ? { kind: "unreadable", usage: `/${kind} JOB` } : { kind, job: args };
    }
    case "pause": {
      const [job = "", ...why] = args.split(/\s+/);
      if (job === "") return { kind: "unreadable", usage: "/pause JOB [why]" };
      return { kind: "pause", job, reason: why.length === 0 ? undefined : why.join(" ") };
    }
    case "add":
      return readAdd(args, isSchedule);
    case "start":
    case "help":
      return { kind: "help" };
    default:
      return { kind: "unreadable", usage: USAGE };
  }
}

/** The schedule stands in quotes, or is the longest beginning that is one. */
function readAdd(args: string, isSchedule: (text: string) => boolean): ChatCommand {
  const unreadable: ChatCommand = {
    kind: "unreadable",
    usage: '/add SCHEDULE PROMPT: /add every 30m Check the site, /add "0 9 * * 1" Plan the week',
  };
  const quoted = /^["“”']([^"“”']+)["“”']\s+([\s\S]+)$/.exec(args);
  if (quoted?.[1] !== undefined && quoted[2] !== undefined)
    return isSchedule(quoted[1]) ? { kind: "add", schedule: quoted[1], prompt: quoted[2] } : unreadable;
  const words = [...args.matchAll(/\S+/g)];
  for (let count = Math.min(MOST_SCHEDULE_WORDS, words.length - 1); count > 0; count--) {
    const next = words[count];
    if (next === undefined) continue;
    const schedule = args.slice(0, next.index).trim();
    if (isSchedule(schedule)) return { kind: "add", schedule, prompt: args.slice(next.index) };
  }
  return unreadable;
}
