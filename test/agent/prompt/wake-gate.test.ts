import { expect, test } from "vitest";
import { readWakeGate } from "../../../src/agent/prompt/wake-gate.ts";

test.each([
  ["", { isWoken: false, reason: "empty" }],
  [" \n\t\n", { isWoken: false, reason: "empty" }],
  ['{"wakeAgent": false}', { isWoken: false, reason: "gate" }],
  ['checked 3 hosts\n{"wakeAgent": false, "why": "all up"}\n\n', { isWoken: false, reason: "gate" }],
  ['db is down\r\n  {"wakeAgent":true}  \r\n', { isWoken: true, text: "db is down\r\n" }],
  ['{"wakeAgent": true}', { isWoken: true, text: "" }],
  ["db is down\n", { isWoken: true, text: "db is down\n" }],
  ['{"wakeAgent": false}\ndb is down', { isWoken: true, text: '{"wakeAgent": false}\ndb is down' }],
  ['{"wakeAgent": "false"}', { isWoken: true, text: '{"wakeAgent": "false"}' }],
  ['{"wakeAgent": 0}', { isWoken: true, text: '{"wakeAgent": 0}' }],
  ['[{"wakeAgent": false}]', { isWoken: true, text: '[{"wakeAgent": false}]' }],
  ['{"wakeAgent": false', { isWoken: true, text: '{"wakeAgent": false' }],
  ['{"errors": 3}', { isWoken: true, text: '{"errors": 3}' }],
])("U3: a script that ended with %j → %j", (stdout, gate) => {
  expect(readWakeGate(stdout)).toEqual(gate);
});
