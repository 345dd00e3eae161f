// Every rule, in the order in which they are told apart when two match at one place.

import type { Rule } from "../rule.ts";
import { backdoor, sudoers } from "./backdoor.ts";
import { deception, disregard, override } from "./conduct.ts";
import { destruction } from "./destruction.ts";
import { exfiltration } from "./exfiltration.ts";
import { injection } from "./injection.ts";
import { node, selfScheduling } from "./own-node.ts";
import { secrets } from "./secrets.ts";

/** All rules that match words. Invisible characters have their own: `invisible-character`. */
export const RULES: readonly Rule[] = [
  ...injection,
  ...deception,
  ...override,
  ...disregard,
  ...exfiltration,
  ...secrets,
  ...sudoers,
  ...backdoor,
  ...node,
  ...selfScheduling,
  ...destruction,
];
