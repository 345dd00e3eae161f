// The node itself: a job must not stop or restart what runs it, nor schedule more of itself.

import { commandArgs, isOwnHome } from "../command-args.ts";
import { deciding, matching, phrase, type Rule, unspaced } from "../rule.ts";

const STOPS =
  "(?:stop|restart|kill|terminate|disable|mask|try-restart|reload-or-restart|rm|unload|bootout|kickstart|delete|down|remove)";

export const node: readonly Rule[] = [
  {
    id: "own-node",
    class: "node",
    reason: "It stops, restarts or removes the node that would run it.",
    modes: ["strict"],
    forms: [
      matching("nightshift", "\\s{1,4}(?:stop|restart|shutdown|down|kill|quit)(?!\\w)"),
      matching("pkill|killall|kill|taskkill", "\\s[^\\n;&]{0,120}?nightshift"),
      matching("nightshift", "[^\\n;]{0,120}?\\|\\s{0,3}xargs\\s[^\\n;]{0,40}?kill"),
      matching(
        "systemctl|service|docker|podman|pm2|supervisorctl|launchctl|rc-service|sv|docker-compose|brew|kubectl",
        `\\s(?=[^\\n;|&]{0,120}?\\b${STOPS}\\b)[^\\n;|&]{0,120}?nightshift`,
      ),
      phrase(
        "(stop|restart|kill|terminate|shutdown|reboot|disable|quit|bounce|stopping|restarting) {3} nightshift",
      ),
      phrase("(shut|take|bring|turn) {1} (?:down|off) {2} nightshift"),
      phrase("(shut|take|bring|turn) {2} nightshift {1} (?:down|off)"),
      matching("kill", "(?:\\s{1,3}-\\w{1,10}){0,2}\\s{1,3}[\"']?(?:\\$\\{?ppid|\\$\\$|-1(?!\\d)|1(?!\\d))"),
      matching("kill", "\\s[^\\n;]{0,80}?node\\.pid"),
      phrase(
        "(kill|stop|terminate|restart|end) {1} (?:the|your) {2} process (?:you|that runs you|that started you|in which you)",
      ),
      phrase("(kill|stop|terminate|restart) your own (?:process|node|scheduler)"),
      matching("npm|pnpm|yarn|brew", "\\s{1,3}(?:uninstall|remove|rm|un)\\s[^\\n;|&]{0,40}?nightshift"),
      deciding(
        "rm|unlink|shred|del|remove-item|mv",
        (rest) => /^\s/.test(rest) && commandArgs(rest).some(isOwnHome),
      ),
      phrase("(delete|remove|wipe|erase) {4} nightshift {1} (?:home|ledger|database|folder)"),
    ],
    examples: {
      for: ["systemctl restart nightshift", "pkill -f nightshift", "Restart the Nightshift node."],
      against: ["systemctl status nightshift", "systemctl restart nginx", "nightshift status"],
    },
  },
];

export const selfScheduling: readonly Rule[] = [
  {
    id: "self-scheduling",
    class: "self-scheduling",
    reason: "It makes, changes or removes jobs from inside a job.",
    modes: ["strict"],
    forms: [
      matching(
        "nightshift",
        "(?:\\s{1,3}--\\w{1,12}\\s{1,3}[^\\s]{1,80}){0,3}\\s{1,4}job\\s{1,4}(?:add|update|edit|remove|apply|pause|resume|import-hermes)(?!\\w)",
      ),
      matching(
        "cronjob|cronjob_manage",
        '\\s{0,2}\\(\\s{0,2}["\'\\{]?\\s{0,2}(?:action|"action|create|update)',
      ),
      phrase("(use|call|invoke|with) {1} cronjob tool {2} (?:create|add|update|remove|schedule|pause)"),
      phrase(
        "(reschedule|schedule|requeue|repeat) (?:yourself|itself|this job|this prompt|this task|me again)",
      ),
      phrase(
        "(schedule|create|add|make|set) {6} (?:job|jobs|task|run|runs|copy) {2} (?:yourself|itself|like this one|like yourself|repeats this|repeats itself)",
      ),
      phrase("(create|add|make|spawn) {3} (?:scheduled|nightshift) job"),
      unspaced(".nightshift/jobs", ""),
      matching("post|put|patch|delete", "\\s[^\\n;|&]{0,300}?/api/jobs(?!\\w)"),
    ],
    examples: {
      for: ['nightshift job add "every 5m" "again"', "Reschedule yourself to run in ten minutes."],
      against: [
        "nightshift job list --json",
        "Suggest a better schedule for the backup job.",
        "Schedule a post for tomorrow 09:00.",
      ],
    },
  },
];
