// What a model is told about the `process` tool.

export const PROCESS_TEXT = `Starts and watches commands that go on while you do something else: servers, watchers, long builds and downloads.

Actions:
- start {command, cwd?, pty?, persist?, notify?, watch?}: starts it and returns at once with its id. \`pty\` gives it a terminal, for programs that want one. \`persist\`: it goes on when this run ends.
- list: all processes of this run.
- poll {id}: its state and newest output, now.
- log {id, offset?, lines?}: lines of what is kept; default the last 200, an offset counts from the first kept line.
- wait {id, timeoutSeconds?}: until it has ended, at most 180 s; status is exited, timeout or interrupted.
- write {id, data}: to its standard input; end a line with \\n.
- close {id}: ends its standard input.
- kill {id}: ends it and everything it started.
- handoff {id}: gives it to whoever started this run; this run's end no longer ends it.

A unique beginning of an id is enough. What still runs when this run ends is ended with it.`;
