// What a model is told about the `runs` tool.

export const RUNS_TEXT = `Looks at runs and acts on them: everything that Nightshift did, is doing, or could not do.

Actions:
- list {job?, state?, since?, limit?, before?}: newest first, short.
- show {id}: one run with its outcome, output, usage and deliveries.
- logs {id, after?, limit?}: its live log; the newest lines, or those after a sequence number.
- tree {id}: the whole tree it belongs to.
- explain {id}: in one sentence, why it is not running, or how it ended.
- cancel {id}: asks for its end. retry {id, sameKey?}: runs the same work again.
- resolve {id, as, note?}: for a run that is \`unknown\` (its node died amid it): what really became of it. Only say what you have checked; \`rerun\` does it again.

A unique beginning of an id (6 characters) is enough. States: queued, waiting, claimed, running, cancelling; ended: succeeded, partiallySucceeded, failed, cancelled, timedOut, unknown, skipped, missed, blocked. unknown is not failed: it may have done its work.`;
