// The ledger's contract: one suite, run on every driver. Each file tells the rules of one part of the port.

import { describe } from "vitest";
import { backgroundRules } from "./background.ts";
import { budgetRules } from "./budgets.ts";
import { chatRules } from "./chats.ts";
import { claimRules } from "./claims.ts";
import { definitionRules } from "./definitions.ts";
import { endingRules } from "./endings.ts";
import type { Bench } from "./fixtures.ts";
import { incidentRules } from "./incidents.ts";
import { metricsRules } from "./metrics.ts";
import { outboxRules } from "./outbox.ts";
import { readingRules } from "./reading.ts";
import { rolloutRules } from "./rollouts.ts";
import { slotRules } from "./slots.ts";
import { stepBackRules } from "./step-back.ts";
import { triggerRules } from "./triggers.ts";
import { workflowRules } from "./workflows.ts";

export function ledgerContract(name: string, open: () => Promise<Bench>): void {
  describe(`ledger on ${name}`, () => {
    slotRules(open);
    stepBackRules(open);
    definitionRules(open);
    claimRules(open);
    endingRules(open);
    outboxRules(open);
    readingRules(open);
    budgetRules(open);
    backgroundRules(open);
    incidentRules(open);
    triggerRules(open);
    chatRules(open);
    workflowRules(open);
    rolloutRules(open);
    metricsRules(open);
  });
}
