// Child process: the same no-op runs through BullMQ on a Redis. node bullmq.mjs PORT RUNS WIDTH

import { createRequire } from "node:module";

const require = createRequire(new URL("../../peers/package.json", import.meta.url));
const { Queue, Worker } = require("bullmq");
const [port, runs, width] = process.argv.slice(2).map(Number);
const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };

const queue = new Queue("noop", { connection });
// Kept, as our rows are.
const opts = { removeOnComplete: false, removeOnFail: false };
for (let done = 0; done < runs; done += 1_000) {
  await queue.addBulk(
    Array.from({ length: Math.min(1_000, runs - done) }, () => ({ name: "noop", data: {}, opts })),
  );
}
const cpu = process.cpuUsage();
const began = performance.now();
let ended = 0;
const worker = new Worker("noop", async () => {}, { connection, concurrency: width });
await new Promise((resolve) => {
  worker.on("completed", () => {
    ended += 1;
    if (ended === runs) resolve();
  });
});
const ms = performance.now() - began;
const { user, system } = process.cpuUsage(cpu);
await worker.close();
await queue.close();
console.log(JSON.stringify({ perSecond: runs / (ms / 1_000), cpuMs: (user + system) / 1_000 }));
