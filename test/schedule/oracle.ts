// An independent judge of T4: it walks minutes, asks Intl what every clock on the wall shows, and applies the rule's
// words. It shares no code with src/schedule: no parser (expressions come with hand-written predicates), no table.

export interface WallMinute {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  /** 0 = Sunday. */
  weekday: number;
}

/** An expression, what it means for one nominal minute, and whether the rule calls it fixed. */
export interface JudgedExpression {
  text: string;
  isFixed: boolean;
  matches: (wall: WallMinute) => boolean;
}

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

/** What the wall clock of a zone shows, as minutes since 1970 read as if in UTC. */
export function makeWallClock(zone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  });
  return (instant) => {
    // "2026-11-29 16:42": fixed places.
    const text = format.format(instant);
    const date = Date.UTC(+text.slice(0, 4), +text.slice(5, 7) - 1, +text.slice(8, 10));
    return date / MINUTE + +text.slice(11, 13) * 60 + +text.slice(14, 16);
  };
}

export interface ClockChange {
  at: number;
  before: number;
  after: number;
}

/** Changes of the clock in [from, until), found by looking once a day and halving. Offsets in minutes. */
export function clockChanges(zone: string, from: number, until: number): ClockChange[] {
  const wallAt = makeWallClock(zone);
  const offset = (instant: number) => wallAt(instant) - instant / MINUTE;
  const changes: ClockChange[] = [];
  let before = offset(from);
  for (let end = from + DAY; end <= until; end += DAY) {
    const after = offset(end);
    if (after === before) continue;
    let low = end - DAY;
    let high = end;
    while (high - low > MINUTE) {
      const middle = low + Math.floor((high - low) / MINUTE / 2) * MINUTE;
      if (offset(middle) === before) low = middle;
      else high = middle;
    }
    changes.push({ at: high, before, after });
    before = after;
  }
  return changes;
}

/** A stretch of instants, minute by minute, with what the wall showed. */
export interface Walked {
  from: number;
  until: number;
  /** `walls[i]` at instant from + i minutes. */
  walls: readonly number[];
  nominal: ReadonlyMap<number, WallMinute>;
}

/** Walks [from, until) by the minute, and names every nominal minute between the wall's first and last showing. */
export function walk(zone: string, from: number, until: number): Walked {
  const wallAt = makeWallClock(zone);
  const walls: number[] = [];
  for (let instant = from; instant < until; instant += MINUTE) walls.push(wallAt(instant));
  const nominal = new Map<number, WallMinute>();
  for (let wall = Math.min(...walls); wall <= Math.max(...walls); wall++)
    nominal.set(wall, nominalMinute(wall));
  return { from, until, walls, nominal };
}

function nominalMinute(wall: number): WallMinute {
  const date = new Date(wall * MINUTE);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    weekday: date.getUTCDay(),
  };
}

/** The slots of an expression in a walked stretch, by the words of T4. */
export function judge({ from, walls, nominal }: Walked, expression: JudgedExpression): number[] {
  const instantOf = (index: number) => from + index * MINUTE;
  if (!expression.isFixed) {
    // "Wildcard follows real time": every minute whose wall showing matches.
    return walls.flatMap((wall, index) => (expression.matches(nominal.get(wall)!) ? [instantOf(index)] : []));
  }
  const slots = new Set<number>();
  for (const [wall, minute] of nominal) {
    if (!expression.matches(minute)) continue;
    // "Each that the autumn hour repeats fires once, at its first instant."
    const shown = walls.indexOf(wall);
    // "Each wall time that the spring gap swallows maps to the first instant after the gap."
    slots.add(instantOf(shown >= 0 ? shown : walls.findIndex((other) => other > wall)));
  }
  return [...slots].sort((a, b) => a - b);
}
