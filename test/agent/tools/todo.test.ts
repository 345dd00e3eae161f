import { describe, expect, test } from "vitest";
import { makeTodoTool } from "../../../src/agent/tools/todo.ts";
import { call, refusalOf } from "./room.ts";

describe("the todo tool", () => {
  test("items are written, changed by id, added, and read whole each time", async () => {
    const tool = makeTodoTool();

    await call(tool, {
      action: "replace",
      items: [{ text: "look" }, { text: "mend", status: "inProgress" }],
    });
    const updated = await call(tool, {
      action: "update",
      items: [{ id: 1, status: "done" }, { id: 2, text: "mend it" }, { text: "tell" }],
    });

    expect(updated).toEqual({
      error: null,
      items: [
        { id: 1, text: "look", status: "done" },
        { id: 2, text: "mend it", status: "inProgress" },
        { id: 3, text: "tell", status: "pending" },
      ],
      open: 2,
    });
    expect(await call(tool, { action: "read" })).toEqual(updated);
  });

  test("a list written anew starts at 1, whatever ids came with it", async () => {
    const tool = makeTodoTool();
    await call(tool, { action: "replace", items: [{ text: "a" }] });

    const { items } = await call(tool, {
      action: "replace",
      items: [
        { id: 7, text: "b" },
        { id: 1, text: "c" },
      ],
    });

    expect(items).toEqual([
      { id: 1, text: "b", status: "pending" },
      { id: 2, text: "c", status: "pending" },
    ]);
  });

  test("an unknown id, too many items or a new one without text change nothing", async () => {
    const tool = makeTodoTool();
    await call(tool, { action: "replace", items: [{ text: "a" }] });
    const many = Array.from({ length: 100 }, () => ({ text: "x" }));

    expect(
      await call(tool, {
        action: "update",
        items: [
          { id: 1, status: "done" },
          { id: 9, status: "done" },
        ],
      }),
    ).toMatchObject({
      error: expect.stringContaining("no item 9"),
      items: [{ id: 1, text: "a", status: "pending" }],
    });
    expect(await call(tool, { action: "update", items: many })).toMatchObject({
      error: expect.stringContaining("at most 100"),
    });
    expect(refusalOf(tool, { action: "update", items: [{ status: "done" }] })).toContain("needs `text`");
    expect(refusalOf(tool, { action: "replace" })).toContain("needs `items`");
  });

  test("two runs have two lists", async () => {
    const [one, other] = [makeTodoTool(), makeTodoTool()];

    await call(one, { action: "replace", items: [{ text: "a" }] });

    expect(await call(other, { action: "read" })).toEqual({ error: null, items: [], open: 0 });
  });
});
