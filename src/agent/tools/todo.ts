// The `todo` tool: a model's own list for one run. It lives in memory and ends with the run.

import * as z from "zod/mini";
import type { Tool, ToolResult } from "../../records/tool.ts";
import { defineTool } from "../define-tool.ts";

const MAX_ITEMS = 100;
const STATUSES = ["pending", "inProgress", "done", "cancelled"] as const;

interface Item {
  id: number;
  text: string;
  status: (typeof STATUSES)[number];
}

const itemText = () => z.string().check(z.minLength(1), z.maxLength(500));

const schema = z
  .strictObject({
    action: z.enum(["read", "replace", "update"]),
    items: z.optional(
      z
        .array(
          z.strictObject({
            id: z.optional(z.int().check(z.describe("update: which item; without it, one is added."))),
            text: z.optional(itemText()),
            status: z.optional(z.enum(STATUSES)),
          }),
        )
        .check(z.maxLength(MAX_ITEMS)),
    ),
  })
  .check(
    z.refine(({ action, items }) => action === "read" || items !== undefined, "this action needs `items`"),
    z.refine(
      ({ action, items = [] }) =>
        items.every(({ id, text }) => text !== undefined || (action === "update" && id !== undefined)),
      "a new item needs `text`",
    ),
  );

type Input = z.infer<typeof schema>;

/** A fresh, empty list with each call: one run, one list. */
export function makeTodoTool(): Tool {
  const list: Item[] = [];
  return defineTool({
    name: "todo",
    toolset: "todo",
    description: TODO_TEXT,
    schema,
    isParallelSafe: false,
    summarise: ({ action, items }) => (items ? `${action} ${items.length}` : action),
    run: async (input) => act(list, input),
  });
}

function act(list: Item[], { action, items = [] }: Input): ToolResult {
  if (action === "update") {
    const unknown = items.filter(({ id }) => id !== undefined && !list.some((item) => item.id === id));
    if (unknown.length > 0)
      return {
        error: `There is no item ${unknown.map(({ id }) => id).join(", ")}; nothing was changed.`,
        ...show(list),
      };
  }
  const kept = action === "replace" ? [] : list;
  const added = items.filter(({ id }) => action === "replace" || id === undefined);
  if (kept.length + added.length > MAX_ITEMS)
    return { error: `A list holds at most ${MAX_ITEMS} items; nothing was changed.`, ...show(list) };
  if (action === "replace") list.length = 0;
  for (const item of items) {
    const known = action === "update" ? list.find(({ id }) => id === item.id) : undefined;
    if (known) Object.assign(known, { text: item.text ?? known.text, status: item.status ?? known.status });
    else list.push({ id: nextId(list), text: item.text ?? "", status: item.status ?? "pending" });
  }
  return { error: null, ...show(list) };
}

function nextId(list: readonly Item[]): number {
  return Math.max(0, ...list.map(({ id }) => id)) + 1;
}

function show(list: readonly Item[]): Record<string, unknown> {
  const open = list.filter(({ status }) => status === "pending" || status === "inProgress").length;
  return { items: list.map((item) => ({ ...item })), open };
}

const TODO_TEXT = `Keeps a list of what is to be done in this run. Use it for work of three or more steps; keep one item inProgress at a time and set it to done when it is.

Actions: read; replace {items: [{text, status?}]} writes the list anew; update {items: [{id, status?, text?} or {text}]} changes items by id and adds those without one. Every action returns the whole list.`;
