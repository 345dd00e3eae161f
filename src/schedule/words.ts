// Plain words → cron text: `every monday 9am`, `weekdays at 18:00`, `monday and friday at noon`, `noon`.

import { NICKNAMES } from "./cron.ts";
import { unreadable } from "./refusal.ts";

/** Day words and the cron weekdays they mean. `*` = every day. */
const DAY_WORDS: Readonly<Record<string, string>> = {
  day: "*",
  daily: "*",
  everyday: "*",
  weekday: "1-5",
  weekdays: "1-5",
  weekend: "0,6",
  weekends: "0,6",
  ...named("0", "sun sunday sundays"),
  ...named("1", "mon monday mondays"),
  ...named("2", "tue tues tuesday tuesdays"),
  ...named("3", "wed weds wednesday wednesdays"),
  ...named("4", "thu thur thurs thursday thursdays"),
  ...named("5", "fri friday fridays"),
  ...named("6", "sat saturday saturdays"),
};

function named(value: string, words: string): Record<string, string> {
  return Object.fromEntries(words.split(" ").map((word) => [word, value]));
}

const CLOCK_WORDS: Readonly<Record<string, { hour: number; minute: number }>> = {
  noon: { hour: 12, minute: 0 },
  midday: { hour: 12, minute: 0 },
  midnight: { hour: 0, minute: 0 },
};

/** For "did you mean": words of this form, and the nicknames whose `@` was forgotten. */
const KNOWN_WORDS = [
  ...Object.keys(DAY_WORDS),
  ...Object.keys(CLOCK_WORDS),
  ...Object.keys(NICKNAMES),
  ...["every", "at", "and", "on", "in"],
];

/** The cron expression that the words mean. Throws `schedule.unreadable` naming the word that is not known. */
export function parseWords(text: string): string {
  const words = text.toLowerCase().replaceAll(",", " , ").split(/\s+/).filter(Boolean);
  const alone = words.length === 1 ? CLOCK_WORDS[words[0] ?? ""] : undefined;
  if (alone) return `${alone.minute} ${alone.hour} * * *`;
  const { days, rest } = readDays(text, words);
  const { hour, minute } = readClock(text, rest);
  return `${minute} ${hour} * * ${days}`;
}

/** Eats `every`/`on`, day words and their joiners; what is left must be a time. */
function readDays(text: string, words: readonly string[]): { days: string; rest: readonly string[] } {
  let index = 0;
  while (words[index] === "every" || words[index] === "each" || words[index] === "on") index += 1;
  const days: string[] = [];
  let isJoined = true;
  for (; index < words.length; index++) {
    const word = words[index] ?? "";
    if (word === "," || word === "and") {
      if (isJoined && word === ",") break;
      isJoined = true;
      continue;
    }
    const day = DAY_WORDS[word];
    if (day === undefined || !isJoined) break;
    days.push(day);
    isJoined = false;
  }
  if (days.length === 0 || isJoined) throw unknownWord(text, words[index] ?? words.at(-1) ?? text);
  return { days: joinDays(days), rest: words.slice(index) };
}

function joinDays(days: readonly string[]): string {
  return days.includes("*") ? "*" : [...new Set(days)].join(",");
}

function readClock(text: string, words: readonly string[]): { hour: number; minute: number } {
  const time = (words[0] === "at" ? words.slice(1) : words).join(" ");
  if (time === "") {
    throw unreadable({
      text,
      why: "it names days but no time",
      hint: `Add a time: \`${text.trim().replace(/\s+at$/i, "")} at 9am\`.`,
    });
  }
  const clock = parseClock(time);
  if (clock) return clock;
  const first = words[0] === "at" ? words[1] : words[0];
  if (/^\d/.test(time)) throw unreadable({ text, why: `"${time}" is not a time of day`, token: time });
  throw unknownWord(text, first ?? time);
}

/** `9am`, `9:30 pm`, `14:00`, `7` (hour 0–23), `noon`, `midnight`. Undefined for anything else. */
function parseClock(time: string): { hour: number; minute: number } | undefined {
  const word = CLOCK_WORDS[time];
  if (word) return word;
  const match = /^(\d{1,2})(?::(\d{2}))?\s*(am|pm|a\.m\.|p\.m\.)?$/.exec(time);
  if (!match) return undefined;
  const hour = Number(match[1]);
  const minute = Number(match[2] ?? 0);
  const half = match[3]?.[0];
  if (minute > 59) return undefined;
  if (half === undefined) return hour <= 23 ? { hour, minute } : undefined;
  if (hour < 1 || hour > 12) return undefined;
  return { hour: (hour % 12) + (half === "p" ? 12 : 0), minute };
}

function unknownWord(text: string, token: string) {
  return unreadable({ text, why: `"${token}" is not a day or a time`, token, known: KNOWN_WORDS });
}
