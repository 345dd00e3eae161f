import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { placeRequest } from "../../../src/orchestrate/resources/place-request.ts";
import { type Held, roomOf } from "../../../src/orchestrate/resources/room.ts";
import type { MachineResources } from "../../../src/records/resources.ts";
import type { Resources } from "../../../src/records/workflow.ts";
import { resolveResources } from "../../../src/records/workflow-resolve.ts";

const NOW = 1_000_000;
const LONG_AGO = NOW - 60_000;

function machine(parts: Partial<MachineResources> = {}): MachineResources {
  return {
    ...{ probedAt: NOW, cpu: 8, memoryMb: 16_000, memoryFreeMb: 16_000, labels: ["line-a"] },
    cards: [{ totalMb: 16_000, freeMb: 16_000 }],
    reserve: { cpu: 0, memoryMb: 0, gpuMemoryMb: 0 },
    ...parts,
  };
}

function held(runId: string, parts: Partial<Held> = {}): Held {
  return { ...{ runId, since: LONG_AGO, cpu: 0, memoryMb: 0, cards: [], gpuMemoryMb: 0 }, ...parts };
}

const onCard = (runId: string, gpuMemoryMb: number, parts: Partial<Held> = {}) =>
  held(runId, { cards: [0], gpuMemoryMb, ...parts });

const place = (needs: Resources, on: MachineResources, room: { held: readonly Held[]; settleMs?: number }) =>
  placeRequest(needs, { machine: on, ...room });

const lacks = (answer: ReturnType<typeof placeRequest>) => (answer.fits ? "fits" : answer.lacks);

describe("peers §5.2, 8: what fits is compared with what is free, and what does not says why", () => {
  test("a request for GPU memory names what it needs, what is free, and who holds the rest", () => {
    const answer = place(resolveResources({ gpuMemoryMb: 8_192 }), machine(), {
      held: [onCard("X", 7_900)],
    });

    expect(lacks(answer)).toBe("needs 8,192 MB of GPU memory, 8,100 free, 7,900 held by run X");
  });

  test("seed 003 §5.4: 8192 of 8192 MB fits; with a stated reserve it does not, and the sentence names the reserve", () => {
    const small = { cards: [{ totalMb: 8_192, freeMb: 8_192 }] };
    const needs = resolveResources({ gpuMemoryMb: 8_192 });

    expect(place(needs, machine(small), { held: [] })).toEqual({ fits: true, cards: [0] });
    const kept = machine({ ...small, reserve: { cpu: 0, memoryMb: 0, gpuMemoryMb: 92 } });
    expect(lacks(place(needs, kept, { held: [] }))).toBe(
      "needs 8,192 MB of GPU memory, this machine's largest has 8,192 beside a reserve of 92",
    );
  });

  test("what other programs use is not free, whatever was reserved", () => {
    const busy = machine({ cards: [{ totalMb: 16_000, freeMb: 4_000 }] });

    expect(lacks(place(resolveResources({ gpuMemoryMb: 4_001 }), busy, { held: [] }))).toBe(
      "needs 4,001 MB of GPU memory, 4,000 free, other programs use the rest",
    );
    expect(place(resolveResources({ gpuMemoryMb: 4_000 }), busy, { held: [] }).fits).toBe(true);
  });

  test("a run that has just begun has not taken its memory yet: its share is taken off what was measured", () => {
    const needs = resolveResources({ memoryMb: 6_000 });
    const half = machine({ memoryFreeMb: 10_000 });
    const of = (since: number) => ({ held: [held("a", { memoryMb: 5_000, since })], settleMs: 10_000 });

    expect(lacks(place(needs, half, of(NOW - 9_999)))).toBe(
      "needs 6,000 MB of memory, 5,000 free, 5,000 held by run a, other programs use the rest",
    );
    expect(place(needs, half, of(NOW - 10_000)).fits).toBe(true);
  });

  test("a GPU asked for without memory belongs to its run alone; with memory it is shared", () => {
    const whole = resolveResources({ gpu: 1 });
    const part = resolveResources({ gpu: 1, gpuMemoryMb: 1 });

    expect(place(part, machine(), { held: [onCard("a", 100)] })).toEqual({ fits: true, cards: [0] });
    expect(lacks(place(whole, machine(), { held: [onCard("a", 100)] }))).toBe(
      "needs 1 GPU of its own, 0 free, 1 held by run a",
    );
    expect(lacks(place(part, machine(), { held: [onCard("a", 0)] }))).toBe(
      "needs 1 MB of GPU memory, 0 free, the GPU is held by run a",
    );
  });

  test("two cards: the fullest that fits is taken, so that a large request finds room; two at once need two", () => {
    const two = machine({
      cards: [
        { totalMb: 8_000, freeMb: 8_000 },
        { totalMb: 8_000, freeMb: 8_000 },
      ],
    });
    const busy = { held: [held("a", { cards: [1], gpuMemoryMb: 5_000 })] };

    expect(place(resolveResources({ gpuMemoryMb: 2_000 }), two, busy)).toEqual({
      fits: true,
      cards: [1],
    });
    expect(place(resolveResources({ gpuMemoryMb: 6_000 }), two, busy)).toEqual({
      fits: true,
      cards: [0],
    });
    expect(lacks(place(resolveResources({ gpu: 2, gpuMemoryMb: 6_000 }), two, busy))).toBe(
      "needs 2 GPUs with 6,000 MB of GPU memory each, 1 has them free, 5,000 held by run a",
    );
    expect(roomOf({ machine: two, ...busy }).cards.map(({ free }) => free)).toEqual([8_000, 3_000]);
  });

  test.each([
    [{ cpu: 9 }, {}, "needs 9 cores, this machine has 8"],
    [{ gpu: 1 }, { cards: [] }, "needs 1 GPU, this machine has none"],
    [
      { gpu: 1 },
      { cardProblem: "nvidia-smi: no answer within 5s" },
      "needs a GPU, and the GPUs cannot be measured: nvidia-smi: no answer within 5s",
    ],
    [{ labels: ["line-b"] }, {}, 'needs the label "line-b", this machine has "line-a"'],
    [{ memoryMb: 20_000 }, {}, "needs 20,000 MB of memory, this machine has 16,000"],
  ])("%o on %o: %s", (needs, parts, sentence) => {
    expect(lacks(place(resolveResources(needs), machine(parts), { held: [] }))).toBe(sentence);
  });

  test("cores are shared by reservation alone; who holds them is named, most first, and not endlessly", () => {
    const holders = [1, 2, 0.5, 1.5, 1].map((cpu, index) => held(`r${index}`, { cpu }));

    expect(lacks(place(resolveResources({ cpu: 2.5 }), machine(), { held: holders }))).toBe(
      "needs 2.5 cores, 2 free, 2 held by run r1, 1.5 held by run r3, 1 held by run r0, and more by 2 other runs",
    );
  });
});

test("whatever is asked for and in whatever order, what is taken never exceeds what a machine has (200 random machines)", () => {
  const amount = fc.integer({ min: 0, max: 20 });
  const request = fc.record({
    cpu: amount,
    memoryMb: amount,
    gpu: fc.integer({ min: 0, max: 2 }),
    gpuMemoryMb: amount,
  });
  const cards = fc.array(amount, { maxLength: 3 });
  fc.assert(
    fc.property(
      amount,
      amount,
      cards,
      fc.array(request, { maxLength: 12 }),
      (cpu, memoryMb, sizes, requests) => {
        const here = machine({
          ...{ cpu, memoryMb, memoryFreeMb: memoryMb, labels: [] },
          cards: sizes.map((totalMb) => ({ totalMb, freeMb: totalMb })),
        });
        const taken: Held[] = [];
        for (const [index, one] of requests.entries()) {
          const needs = resolveResources({ ...one, gpu: one.gpu || (one.gpuMemoryMb > 0 ? 1 : 0) });
          const answer = place(needs, here, { held: taken });
          if (!answer.fits) continue;
          expect(new Set(answer.cards).size).toBe(needs.gpu);
          taken.push({ ...held(`r${index}`), ...needs, cards: answer.cards, gpuMemoryMb: needs.gpuMemoryMb });
        }
        const total = (of: (one: Held) => number) => taken.reduce((sum, one) => sum + of(one), 0);
        expect(total((one) => one.cpu)).toBeLessThanOrEqual(cpu);
        expect(total((one) => one.memoryMb)).toBeLessThanOrEqual(memoryMb);
        for (const [card, size] of sizes.entries()) {
          const here = taken.filter((one) => one.cards.includes(card));
          expect(here.reduce((sum, one) => sum + one.gpuMemoryMb, 0)).toBeLessThanOrEqual(size);
          if (here.some((one) => one.gpuMemoryMb === 0)) expect(here).toHaveLength(1);
        }
      },
    ),
    { numRuns: 200 },
  );
});
