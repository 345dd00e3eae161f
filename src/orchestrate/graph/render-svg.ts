// A graph as a picture: tasks in columns by what they wait for, drawn without any library. The same plan gives the same text.

import { type Plan, sourcesOf, transitionsOf } from "./plan.ts";
import type { Progress, UnitStanding } from "./progress.ts";

const BOX = { width: 190, height: 44, gapX: 70, gapY: 22, margin: 24 };

const COLOURS: Readonly<Partial<Record<UnitStanding, string>>> = {
  succeeded: "#d3f3dc",
  partiallySucceeded: "#eef3c8",
  failed: "#f9d3d3",
  timedOut: "#f9d3d3",
  cancelled: "#e5e0ea",
  skipped: "#eeeeee",
  running: "#d4e6fb",
  queued: "#e8f1fc",
  waiting: "#fdf0cd",
};
const LINES = { depends: "#6b7280", success: "#2f8f4e", failure: "#c23b3b", complete: "#7a5bb5" } as const;

interface Place {
  x: number;
  y: number;
}

/** A whole SVG document. `progress` colours each task by where it stands. */
export function renderSvg(plan: Plan, progress?: Progress): string {
  const places = placesOf(plan);
  const width = Math.max(0, ...[...places.values()].map(({ x }) => x)) + BOX.width + BOX.margin;
  const height = Math.max(0, ...[...places.values()].map(({ y }) => y)) + BOX.height + BOX.margin;
  const links = [...plan.tasks.keys()].flatMap((id) => linksTo(plan, id, places));
  const boxes = [...plan.tasks.keys()].map((id) => box(plan, id, { place: places.get(id), progress }));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(plan.workflow.name)}</title>`,
    ...Object.entries(LINES).map(
      ([kind, colour]) =>
        `<marker id="${kind}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="${colour}"/></marker>`,
    ),
    ...links,
    ...boxes,
    "</svg>\n",
  ].join("\n");
}

/** A task's column is one beyond the furthest of those it waits for; handlers and `finally` stand behind the graph. */
function placesOf(plan: Plan): Map<string, Place> {
  const columns = new Map<string, number>();
  let lastOfMain = 0;
  for (const phase of ["main", "handlers", "finally"] as const) {
    const base = phase === "main" ? 0 : lastOfMain + 1;
    for (const id of plan.order) {
      const planned = plan.tasks.get(id);
      if (planned?.phase !== phase) continue;
      const before = sourcesOf(planned).map((source) => columns.get(source) ?? -1);
      columns.set(id, Math.max(base, ...before.map((column) => column + 1)));
    }
    lastOfMain = Math.max(0, ...columns.values());
  }
  const filled = new Map<number, number>();
  return new Map(
    plan.order.map((id) => {
      const column = columns.get(id) ?? 0;
      const row = filled.get(column) ?? 0;
      filled.set(column, row + 1);
      const x = BOX.margin + column * (BOX.width + BOX.gapX);
      return [id, { x, y: BOX.margin + row * (BOX.height + BOX.gapY) }];
    }),
  );
}

function linksTo(plan: Plan, id: string, places: ReadonlyMap<string, Place>): string[] {
  const planned = plan.tasks.get(id);
  const from = places.get(id);
  if (!planned || !from) return [];
  const out = transitionsOf(planned.task).map(({ target, on }) => ({ from: id, to: target, kind: on }));
  const waits = planned.task.dependsOn.map((source) => ({ from: source, to: id, kind: "depends" as const }));
  return [...waits, ...out].flatMap(({ from: source, to, kind }) => {
    const [start, end] = [places.get(source), places.get(to)];
    return start && end ? [curve(start, end, kind)] : [];
  });
}

function curve(start: Place, end: Place, kind: keyof typeof LINES): string {
  const [x1, y1] = [start.x + BOX.width, start.y + BOX.height / 2];
  const [x2, y2] = [end.x, end.y + BOX.height / 2];
  const bend = Math.max(30, Math.abs(x2 - x1) / 2);
  const dash = kind === "depends" ? "" : ' stroke-dasharray="5 3"';
  return `<path d="M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}" fill="none" stroke="${LINES[kind]}"${dash} marker-end="url(#${kind})"/>`;
}

function box(
  plan: Plan,
  id: string,
  { place, progress }: { place: Place | undefined; progress: Progress | undefined },
): string {
  const planned = plan.tasks.get(id);
  if (!place || !planned) return "";
  const { work } = planned.task;
  const standing = progress?.units.get(id)?.standing;
  const what = work.kind === "executor" ? work.executor : work.kind;
  const fill = (standing && COLOURS[standing]) ?? "#ffffff";
  const line = standing ? `${what}: ${standing}` : what;
  const x = place.x + 10;
  return [
    `<g><title>${escaped(`${id}: ${line}`)}</title>`,
    `<rect x="${place.x}" y="${place.y}" width="${BOX.width}" height="${BOX.height}" rx="6" fill="${fill}" stroke="#374151"/>`,
    `<text x="${x}" y="${place.y + 18}" font-weight="bold">${escaped(shortened(id))}</text>`,
    `<text x="${x}" y="${place.y + 35}" fill="#4b5563">${escaped(shortened(line))}</text></g>`,
  ].join("");
}

const MOST_CHARACTERS = 26;
const shortened = (text: string) =>
  text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS - 1)}…` : text;

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
