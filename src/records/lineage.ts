// Who asked whom, with which budget and grants. An argument everywhere, never ambient.

/** Position of a run in its tree. Budgets and grants grow with the agent rooms; a script job's lineage is its root. */
export interface Lineage {
  rootId: string;
  parentId: string | undefined;
  depth: number;
}
