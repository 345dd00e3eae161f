// What `doctor` and `check-env` say: findings, each with what to do.

export const FINDING_CODES = [
  "noNode",
  "nodeStuck",
  "nodeFailing",
  "nodeLost",
  "clockSkew",
  "jobHeld",
  "jobQuarantined",
  "jobNeverFired",
  "slotOverdue",
  "fileUnused",
  "homePermissions",
  "diskSpace",
  "interpreterMissing",
  "runUnknown",
  "modelUnusable",
  "jobCannotRun",
  "environmentUnusable",
  "localIsOpen",
  "platformDown",
  "platformBroken",
  "chatMoved",
  "deliveryDead",
  "incidentOpen",
  "hookMissing",
  "topicNotHeard",
  "rolledBack",
  "watchedFolderMissing",
  "processUnseen",
  "processLeftover",
  "processUnknown",
] as const;

export interface Finding {
  code: (typeof FINDING_CODES)[number];
  what: string;
  todo: string;
}

export interface Diagnosis {
  isHealthy: boolean;
  findings: Finding[];
  /** What was looked at and found good, for people who wonder. */
  checked: string[];
}
