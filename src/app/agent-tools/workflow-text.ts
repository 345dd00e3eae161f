// What a model is told about the `workflow` tool.

export const WORKFLOW_TEXT = `Runs workflows: graphs of tasks that Nightshift carries out, retries and accounts for.

Actions:
- list: the home's workflows, their params, and what is wrong with them.
- check {name}: every mistake of one, with line and column.
- graph {name | id}: one as a tree of text; with a run's id, where each task stands.
- run {name, params?}: queues a run; look at it with the runs tool (tree, show).

A run that waits for an approval is answered with the runs tool: resolve {id, as: succeeded | failed}. Only do so when a person told you to.`;
