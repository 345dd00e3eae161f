import { describe, expect, test } from "vitest";
import {
  chooseRegistration,
  eligible,
  type Registration,
  registrationKey,
  registrationOf,
} from "../../../src/orchestrate/resources/choose.ts";
import type { Held } from "../../../src/orchestrate/resources/room.ts";
import type { MachineResources } from "../../../src/records/resources.ts";
import { resolveResources } from "../../../src/records/workflow-resolve.ts";

const MACHINE: MachineResources = {
  ...{ probedAt: 0, cpu: 4, memoryMb: 8_000, memoryFreeMb: 8_000, labels: [] },
  cards: [{ totalMb: 8_000, freeMb: 8_000 }],
  reserve: { cpu: 0, memoryMb: 0, gpuMemoryMb: 0 },
};

function registration(
  source: string,
  needs: Parameters<typeof resolveResources>[0],
  parts: Partial<Registration> = {},
): Registration {
  const contract = { resources: resolveResources(needs) };
  return { ...{ name: "detect", version: "1", kind: "function", source, contract }, ...parts };
}

const GPU = registration("gpu", { gpuMemoryMb: 6_000 });
const CPU = registration("cpu", { cpu: 2 });
const ANY = { version: undefined, resources: undefined };

const hold = (parts: Partial<Held>): Held => ({
  ...{ runId: "x", since: -60_000, cpu: 0, memoryMb: 0, cards: [], gpuMemoryMb: 0 },
  ...parts,
});

function chosen(...args: Parameters<typeof chooseRegistration>): string | undefined {
  const choice = chooseRegistration(...args);
  return choice && ("lacks" in choice ? choice.lacks : choice.registration.source);
}

describe("several registrations of one name (DESIGN §12)", () => {
  test("the preferred one does the task where it fits, the next one where it does not", () => {
    const busy = [hold({ cards: [0], gpuMemoryMb: 4_000 })];

    expect(chosen([GPU, CPU], ANY, { machine: MACHINE, held: [] })).toBe("gpu");
    expect(chosen([GPU, CPU], ANY, { machine: MACHINE, held: busy })).toBe("cpu");
  });

  test("where none fits, the task waits for the preferred one and says for what", () => {
    const full = [hold({ cards: [0], gpuMemoryMb: 4_000, cpu: 3 })];

    expect(chosen([GPU, CPU], ANY, { machine: MACHINE, held: full })).toBe(
      "needs 6,000 MB of GPU memory, 4,000 free, 4,000 held by run x",
    );
  });

  test("what the task itself asks for counts instead of what its executor says", () => {
    const wish = { version: undefined, resources: resolveResources({ gpuMemoryMb: 8_000 }) };
    const choice = chooseRegistration([GPU], wish, { machine: MACHINE, held: [] });

    expect(choice).toMatchObject({ needs: { gpu: 1, gpuMemoryMb: 8_000 }, cards: [0] });
  });

  test("a pinned version is kept, also where another one would fit; none runs in place of one that is gone", () => {
    const newer = registration("newer", {}, { version: "2" });
    const pinned = { version: "1", resources: undefined };

    expect(eligible([newer, GPU, CPU], undefined).map(({ source }) => source)).toEqual(["newer"]);
    expect(eligible([newer, GPU, CPU], "1").map(({ source }) => source)).toEqual(["gpu", "cpu"]);
    expect(chosen([newer, GPU], pinned, { machine: { ...MACHINE, cards: [] }, held: [] })).toBe(
      "needs 1 GPU, this machine has none",
    );
    expect(eligible([newer, GPU], "0.9")).toEqual([]);
    expect(registrationOf([newer, GPU], { version: "1" })).toBe(GPU);
    expect(registrationOf([newer, GPU, CPU], { version: "1", registration: registrationKey(CPU) })).toBe(CPU);
  });

  test("another machine stands in where this one has no room, and takes nothing here", () => {
    const remote = registration("elsewhere", { gpuMemoryMb: 99_000 }, { kind: "remote" });
    const full = [hold({ cards: [0], gpuMemoryMb: 4_000 })];

    const choice = chooseRegistration([GPU, remote], ANY, { machine: MACHINE, held: full });
    expect(choice).toMatchObject({ registration: remote, needs: { gpu: 0, gpuMemoryMb: 0 }, cards: [] });
  });
});
