// What a job must not do to the program that runs it: stop it, restart it, start another, or schedule itself again
// (hermes#30719, #51976: a job that restarts its own gateway, for ever). Pure.
//
// I1. Only commands count, never words about them: "tell me when nightshift is up" is a question, `nightshift up` a start.
// I2. Words are walked once, so a long text costs its length and no more.

/** Why a prompt or a command's word is refused; undefined = it is not. */
export function lifecycleThreat(text: string): string | undefined {
  return commandsIn(text).map(endsNode).find(isFound);
}

/** The same for a script's text, where a command is a command. */
export function scriptLifecycleThreat(text: string): string | undefined {
  return commandsIn(withoutComments(text))
    .map((words) => endsNode(words) ?? startsOrSchedules(words) ?? killsParent(words))
    .find(isFound);
}

function isFound(threat: string | undefined): threat is string {
  return threat !== undefined;
}

/** Whole lines only: a `#` inside a line may be anything. */
function withoutComments(text: string): string {
  return text.replace(/^[ \t]*(?:#|\/\/).*$/gm, "");
}

/** Each command's words. A pipe stays a word of its own: what is left of it is killed right of it. */
function commandsIn(text: string): string[][] {
  return text
    .replace(/\\\r?\n/g, " ")
    .split(/[\n;]|&&?/)
    .map((command) => command.replaceAll("|", " | ").split(/\s+/).filter(Boolean));
}

/** Programs that end services by name. */
const MANAGERS: ReadonlySet<string> = new Set([
  ...["systemctl", "supervisorctl", "pm2", "launchctl", "docker", "podman", "brew"],
  ...["service", "rc-service", "sv", "svc"],
]);
const ENDINGS: ReadonlySet<string> = new Set([
  ...["stop", "restart", "try-restart", "reload", "kill", "disable", "mask", "rm", "remove", "delete"],
  ...["unload", "bootout", "kickstart", "force-stop"],
]);
/** Stand between a program and its verb. */
const BETWEEN: ReadonlySet<string> = new Set(["compose", "container", "services"]);
const KILLERS: ReadonlySet<string> = new Set(["pkill", "killall", "skill"]);
const FINDERS: ReadonlySet<string> = new Set(["pgrep", "pidof"]);

function endsNode(words: readonly string[]): string | undefined {
  if (!words.some(namesUs)) return undefined;
  const hit = words.some((word, at) => endsService(word, words.slice(at + 1, at + 1 + NEAR)));
  if (hit) return "it would stop or restart the service of its own node (node-service)";
  return killsNode(words) ? "it would kill its own node (node-kill)" : undefined;
}

/** A command's verb and object stand within so many words. */
const NEAR = 12;

function endsService(word: string, next: readonly string[]): boolean {
  if (/init\.d\/\S*nightshift/i.test(word)) return ENDINGS.has(bare(next[0]));
  if (!MANAGERS.has(programOf(word))) return false;
  let hasVerb = false;
  let hasName = false;
  let mayBeValue = false;
  for (const one of next) {
    if (ENDINGS.has(bare(one))) hasVerb = true;
    else if (namesUs(one)) hasName = true;
    else if (!one.startsWith("-") && !BETWEEN.has(bare(one)) && !mayBeValue) return false;
    if (hasVerb && hasName) return true;
    mayBeValue = one.startsWith("-");
  }
  return false;
}

function killsNode(words: readonly string[]): boolean {
  return words.some((word, at) => {
    const program = programOf(word);
    const object = words.slice(at + 1, at + 1 + NEAR).find((one) => !one.startsWith("-"));
    if (KILLERS.has(program)) return object !== undefined && namesUs(object);
    if (program === "kill")
      return /^["']?[$`]/.test(object ?? "") && words.slice(at + 1, at + 1 + NEAR).some(namesUs);
    if (!FINDERS.has(program)) return false;
    const found = words.slice(at, at + NEAR);
    const pipe = found.indexOf("|");
    return (
      pipe > 0 && found.slice(0, pipe).some(namesUs) && found.slice(pipe).some((one) => bare(one) === "kill")
    );
  });
}

const STARTS: ReadonlySet<string> = new Set(["up", "tick", "selftest"]);
const JOB_CHANGES: ReadonlySet<string> = new Set([
  ...["add", "edit", "update", "pause", "resume", "remove", "run", "apply", "import-hermes"],
]);

function startsOrSchedules(words: readonly string[]): string | undefined {
  for (const [at, word] of words.entries()) {
    if (!/^nightshift(?:\.js)?$/.test(programOf(word)) || !isCommandAt(words, at)) continue;
    const [noun, verb] = verbsAfter(words, at);
    if (STARTS.has(noun)) return "it would start another node (node-start)";
    if (noun === "job" && JOB_CHANGES.has(verb))
      return "it would change jobs from inside a job (self-schedule)";
  }
  return undefined;
}

/** What may stand before a command and leave it one: `sudo`, `FOO=bar`, `sh -c`, `then`, … */
const LEADS = /^(?:[({!|]+|sudo|env|exec|nohup|time|command|then|do|else|if|while|until|-c|node|npx|\w+=.*)$/;

function isCommandAt(words: readonly string[], at: number): boolean {
  const before = words[at - 1];
  return before === undefined || LEADS.test(before) || /^["'`$({]*\(/.test(words[at] ?? "");
}

/** The first two words that are no option. */
function verbsAfter(words: readonly string[], at: number): [string, string] {
  const verbs: string[] = [];
  for (let index = at + 1; index < words.length && verbs.length < 2; index++) {
    const word = words[index] ?? "";
    if (word === "--home" || word === "--profile") index += 1;
    else if (!word.startsWith("-")) verbs.push(bare(word));
  }
  return [verbs[0] ?? "", verbs[1] ?? ""];
}

function killsParent(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => programOf(word) === "kill");
  const isParent = at >= 0 && words.slice(at).some((word) => /\$\{?PPID\b/.test(word));
  return isParent ? "it would kill the process that runs it (parent-kill)" : undefined;
}

function namesUs(word: string): boolean {
  return /nightshift/i.test(word);
}

/** A word without the quotes and brackets around it. */
function bare(word: string | undefined): string {
  return (word ?? "").replace(/^["'`$({]+|["'`)}.,:]+$/g, "").toLowerCase();
}

function programOf(word: string): string {
  return bare(word).replace(/^.*\//, "");
}
