// What a model is told about the `cronjob` tool.

export const CRONJOB_TEXT = `Schedules work that runs later, unattended, and manages what is scheduled.

Actions:
- create {schedule, prompt | script, …}: adds a job. With \`prompt\` an agent does it in a session of its own that knows nothing of this one: say in the prompt everything it needs. With \`script\` alone, that file of the home's scripts/ folder runs: what it prints is delivered, silence is silence, a non-zero exit is an alert. With both, the script runs first and its output is given to the agent.
- list: all jobs. show {id}: one job in full.
- update {id, …}: changes only what you name; everything else, and whatever people wrote, stays.
- pause {id, reason?, until?}, resume {id}, remove {id, cancel?}.
- run {id} (also run_now, trigger): queues one run now; uses up no slot. Its result is delivered as usual.

schedule: "in 30m" or "2026-12-24T18:00:00Z" = once · "every 30m" · "weekdays at 18:00" · "every monday 9am" · a cron expression "0 9 * * 1-5" (in \`timezone\`) · "manual" = only by run.
deliver: "origin" (the chat this session came from), "local" (kept on this machine), or an address such as "telegram:-1001:17"; a text or a list. Left out: origin if there is one, else local.
repeat: how many times it runs; "forever" (default) or "once" are fine.

The answer says what was understood, the next times it fires, where results go, and warnings: read them, and tell the person if a warning says that nothing will run or that results stay here.
Which model does the work is the person's choice: it cannot be set here, and one that is set stays.
A job may not restart or stop the program that runs it, nor schedule itself again. A reply of a job that is exactly [SILENT] is not delivered.`;
