// What a caller is told about the `agent` tool.

export const AGENT_TEXT = `Starts an agent run of Nightshift, now: it works unattended, in a session of its own that knows nothing of this one. Say in \`prompt\` everything it needs and what its answer shall hold.

Returns the run's id at once, or, with \`waitSeconds\`, waits that long for the end and returns the output too. Look at it later with the runs tool (show, logs, cancel).
It is given the toolsets you name (default: the home's), works in \`workdir\` (default: a fresh folder that goes away), and stops at \`budget\`, \`maxTurns\` or when it is idle for long. Which model does the work is the person's choice.`;
