// Zones: the wall clock of a place, as arithmetic on instants.
//
// A *wall time* is the local date and time written as if it were UTC, in epoch ms: wall = instant + offset.
// I1. Every wall time resolves to one instant, to two (the repeated autumn hour), or lies in a gap (spring).
// I2. Zones are opened once per name and process; nothing here reads the machine's own zone.

import { Fault, nearestWord } from "../kernel/errors.ts";
import { HOUR, type Instant } from "../kernel/time.ts";
import { makeOffsetTable, type OffsetTable, type Transition } from "./offset-table.ts";

/** Where a wall time lies on the time line. `gap` carries the first instant after the gap. */
export type WallInstants =
  | { kind: "once"; at: Instant }
  | { kind: "twice"; first: Instant; second: Instant }
  | { kind: "gap"; end: Instant };

export interface Zone extends OffsetTable {
  readonly name: string;
  instantsOf(wall: number): WallInstants;
}

/** Known without Intl, whose tables take longer to load than the rest of a short command. */
const UTC: Zone = {
  name: "UTC",
  offsetAt: () => 0,
  nextTransition: () => undefined,
  instantsOf: (wall) => ({ kind: "once", at: wall }),
};
const zones = new Map<string, Zone>();
/** Offsets lie between −15:56 and +15:13 in all of tzdb; so the instant of a wall time is never further away. */
const MAX_OFFSET_MS = 16 * HOUR;

/**
 * The zone's name as it should be stored: known to this machine's IANA database, its case set right.
 * Offsets (`+02:00`) are refused: they know no DST. Throws `schedule.zone` with the nearest known name.
 */
export function zoneName(text: string): string {
  return openZone(text.trim()).name;
}

/** Opens a zone by name; cached. Throws `schedule.zone`. */
export function openZone(name: string): Zone {
  const known = zones.get(name);
  if (known) return known;
  const zone = makeZone(name);
  zones.set(name, zone);
  return zone;
}

/** The first instant of a wall time (T4, fixed): inside a gap the first instant after it, of a repeated hour the earlier. */
export function firstInstantOf(zone: Zone, wall: number): Instant {
  const found = zone.instantsOf(wall);
  switch (found.kind) {
    case "once":
      return found.at;
    case "twice":
      return found.first;
    case "gap":
      return found.end;
  }
}

function makeZone(text: string): Zone {
  if (text === "UTC") return UTC;
  const formatter = formatterOf(text);
  const resolved = formatter.resolvedOptions().timeZone;
  // Engines rename links (Asia/Kolkata → Asia/Calcutta); the person's own name is kept, only its case is corrected.
  const name = resolved.toLowerCase() === text.toLowerCase() ? resolved : text;
  const table = makeOffsetTable((instant) => offsetFrom(formatter.format(instant), instant));
  return { name, ...table, instantsOf: (wall) => instantsOf(table, wall) };
}

function formatterOf(text: string): Intl.DateTimeFormat {
  try {
    if (!/^[A-Za-z]/.test(text)) throw new RangeError("not a name");
    return new Intl.DateTimeFormat("en-US", {
      timeZone: text,
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
  } catch (cause) {
    const nearest = nearestZone(text);
    throw new Fault("schedule.zone", `time zone "${text}" is not known`, {
      hint: nearest
        ? `Did you mean ${nearest}?`
        : "Use an IANA name such as Europe/Berlin, America/New_York or UTC.",
      cause,
      details: nearest ? { nearest } : {},
    });
  }
}

function nearestZone(text: string): string | undefined {
  const names = ["UTC", ...Intl.supportedValuesOf("timeZone")];
  const wanted = text.trim().toLowerCase().replaceAll(" ", "_");
  const city = (name: string) => name.slice(name.lastIndexOf("/") + 1);
  const byCity = names.find((name) => city(name).toLowerCase() === city(wanted));
  if (byCity) return byCity;
  const byName = nearestWord(wanted, names);
  if (byName) return byName;
  const nearestCity = nearestWord(city(wanted), names.map(city));
  return names.find((name) => city(name) === nearestCity);
}

/** `11/29/2026, 16:42:10` read as UTC, minus the instant. */
function offsetFrom(text: string, instant: Instant): number {
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = text.split(/\D+/).map(Number);
  const wall = Date.UTC(year, month - 1, day, hour, minute, second);
  return wall - Math.floor(instant / 1000) * 1000;
}

function instantsOf(table: OffsetTable, wall: number): WallInstants {
  const from = wall - MAX_OFFSET_MS;
  const until = wall + MAX_OFFSET_MS;
  const firstOffset = table.offsetAt(from);
  const first = table.nextTransition(from, until);
  if (!first) return { kind: "once", at: wall - firstOffset };
  const found: Instant[] = [];
  let gapEnd: Instant | undefined;
  let segmentStart = from;
  let offset = firstOffset;
  for (let next: Transition | undefined = first; ; next = table.nextTransition(segmentStart, until)) {
    const at = wall - offset;
    if (at >= segmentStart && (!next || at < next.at)) found.push(at);
    if (!next) break;
    if (at >= next.at && wall - next.offsetAfter < next.at) gapEnd ??= next.at;
    segmentStart = next.at;
    offset = next.offsetAfter;
  }
  const [earlier, later] = found;
  if (earlier === undefined) return { kind: "gap", end: gapEnd ?? segmentStart };
  return later === undefined
    ? { kind: "once", at: earlier }
    : { kind: "twice", first: earlier, second: later };
}

const ABBREVIATION_LOCALES = ["en-US", "en-GB", "en-AU", "en-NZ", "en-IN", "en-ZA"];
const abbreviations = new Map<string, Intl.DateTimeFormat[]>();

/** What people call the zone's time at an instant: `CET`, `EDT`, `IST`; `UTC+9` where no short name is in use. */
export function zoneAbbreviation(name: string, instant: Instant): string {
  let formatters = abbreviations.get(name);
  if (!formatters) {
    formatters = ABBREVIATION_LOCALES.map(
      (locale) => new Intl.DateTimeFormat(locale, { timeZone: name, timeZoneName: "short" }),
    );
    abbreviations.set(name, formatters);
  }
  let offsetName = "UTC";
  for (const formatter of formatters) {
    const part = formatter.formatToParts(instant).find((candidate) => candidate.type === "timeZoneName");
    if (part && /^[A-Z]{2,5}$/.test(part.value)) return part.value;
    if (part) offsetName = part.value.replace("GMT", "UTC");
  }
  return offsetName;
}
