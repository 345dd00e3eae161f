// TypeScript next to Python: called in the node's process, with the values that the Python function returned.

import { defineExecutor } from "nightshift";

interface Reading {
  means: Record<string, number>;
  hot: string[];
}

export default defineExecutor({
  name: "advise",
  description: "Says what to do about what is too hot.",
  effects: "none",
  input: {
    type: "object",
    properties: { reading: { type: "object" } },
    required: ["reading"],
    additionalProperties: false,
  },
  run({ reading }) {
    const { means, hot } = reading as Reading;
    const lines = hot.map((sensor) => `${sensor}: ${means[sensor]} °C, have it looked at`);
    return { status: hot.length > 0 ? "warning" : "ok", advice: lines.join("\n") || "nothing is too hot" };
  },
});
