// What a model is told about the `terminal` tool.

/** `maxSeconds` = the longest time a command may be given. */
export function terminalText(defaultSeconds: number, maxSeconds: number): string {
  return `Runs one shell command (bash where there is one) and returns when it has ended.

The directory and exported variables persist from call to call. Commands get no input: use flags such as -y, and never start an editor, a pager or anything else that waits for a person.
Returns {exitCode, stdout, stderr, timedOut, cwd, durationMs}. An exit code other than 0 is not an error of the tool: read it together with stderr. Of long output the end is kept; to see the rest, write it to a file or narrow the command.
A command gets ${defaultSeconds} s unless timeoutSeconds says otherwise (at most ${maxSeconds} s). What runs longer, or is meant to go on while you do something else (servers, watchers, long builds), belongs into the \`process\` tool, not behind \`&\`.
To read, write or search files, prefer the files tools where you have them: their results are easier to use.`;
}
