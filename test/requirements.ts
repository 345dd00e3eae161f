// What Nightshift promises about time, definitions, the ledger, the outbox, safety, tasks, graphs and its surfaces: one line
// a rule. G are the rules of graphs, in the order of docs/workflows.md.
// docs/semantics.md and the tests cite these ids; test/meta/requirements.test.ts fails when one has no test.
//
// I1. A rule is a sentence that a test can break. `learnedFrom` names the complaints about other systems that it answers.

export interface Requirement {
  states: string;
  /** `project#number` of public reports. */
  learnedFrom?: readonly string[];
}

export const requirements = {
  T1: { states: "Instants are epoch ms inside and UTC outside; a job's zone is fixed once and is its own." },
  T2: {
    states: "Every accepted schedule text has one meaning; all others are refused with the accepted forms.",
  },
  T3: {
    states: "A surface refuses a past instant; a dropped file with one is held, never run late by surprise.",
    learnedFrom: ["hermes#113603"],
  },
  T4: {
    states:
      "Over a change of the clock, fixed times fire exactly once and repeating ones follow elapsed time.",
    learnedFrom: ["hermes#66436", "hermes#109411", "node-cron#518", "bull#2207", "systemd#8647"],
  },
  T5: {
    states: "Jitter moves a slot's start by the same amount every time and never changes which slot it is.",
    learnedFrom: ["hermes#78986"],
  },
  T6: {
    states:
      "A late slot runs within its grace; beyond it the catch-up policy decides, and each slot is on record.",
    learnedFrom: ["hermes#30850", "openclaw#33092", "openclaw#73644"],
  },
  T7: {
    states:
      "A slot that meets a live run of its job is skipped, queued, let through or replaces it, as declared.",
  },
  T8: {
    states: "The scheduler sleeps to the next due instant and tells a stepped clock from a sleeping machine.",
    learnedFrom: ["hermes#30850"],
  },
  T9: {
    states: "`repeat` counts slots that started, once each; a completed job stays, and can be reopened.",
  },
  D1: {
    states:
      "A version counts from the moment it is recorded; what was due before belongs to the one before it.",
  },
  D2: {
    states:
      "A file counts when it has settled; absence, doubles and renames are told apart before anything ends.",
  },
  D3: {
    states:
      "A change is compared, written whole and recorded; a lost race changes nothing and loses no text.",
  },
  D4: {
    states: "What a person enabled and what the machine suspended are two things; only held jobs stay due.",
  },
  D5: { states: "Nothing is claimed for a version that is no longer in force." },
  L1: { states: "A run that has ended never changes again, by the database's own word." },
  L2: {
    states: "Each slot is on record exactly once, as a run or within one range.",
    learnedFrom: ["hermes#59229"],
  },
  L3: {
    states: "`running` is on record before the work begins, so a dead owner's claim is told from its run.",
  },
  L4: {
    states: "A claim changes hands when its lease has run out or its owner is proved dead, and not before.",
  },
  L5: { states: "An owner that lost its claim stops, and nothing that it still says counts." },
  L6: {
    states: "`unknown` is not `failed`: it runs again only where repeating was declared safe.",
    learnedFrom: ["openclaw#27921"],
  },
  L7: { states: "A job that kills its node is tried alone, then held back until a person releases it." },
  L8: { states: "Retention folds old slots into counts; what is live, open or unresolved stays." },
  L9: {
    states: "The audit recomputes what was due and names every slot missing, doubled or early.",
    learnedFrom: ["openclaw#33092", "hermes#59229"],
  },
  L10: {
    states: "No process outlives its run unseen, and none that is somebody else's is signalled.",
    learnedFrom: ["hermes#89614", "hermes#60485"],
  },
  L11: { states: "A busy or full store delays what must be written and loses none of it." },
  L12: {
    states: "A node takes what it can prepare, up to its width; what nobody can take says why it waits.",
  },
  L13: { states: "A stop lets live runs end, then ends them, and puts back what may be repeated." },
  L14: { states: "A time limit measures silence: any output or CPU time is activity." },
  O1: {
    states: "One message has one key; equal failures alert once, and a start's misses go out as one digest.",
  },
  O2: {
    states:
      "A message is delivered, unknown, dead or suppressed; until then it is tried again, in order, with a limit.",
  },
  O3: {
    states: "After a cut between request and receipt only what is safe to repeat is sent again.",
    learnedFrom: ["openclaw#27921"],
  },
  O4: {
    states: "A target that cannot be reached is said when the job is made, and never dropped later.",
    learnedFrom: ["hermes#47056"],
  },
  O5: {
    states: "An address is read by its platform, and an id keeps every digit.",
    learnedFrom: ["hermes#47056"],
  },
  S1: { states: "Work inside a run cannot change jobs unless a person allowed it." },
  S2: {
    states: "A command sees an allow-list of the environment and a folder of its own.",
    learnedFrom: ["hermes#99635", "hermes#42384"],
  },
  S3: {
    states:
      "What a call may cost is set aside before it is made, counted after, and never beyond the budget.",
  },
  S4: {
    states:
      "A model call is the same watched, unwatched or badly watched; a key goes to its own host, content comes once.",
  },
  S5: { states: "HTTP listens on loopback, asks for a token and refuses foreign hosts and origins." },
  S6: { states: "A platform that is not supported says so at once and exits with 2." },
  U1: {
    states:
      "Exit codes tell ok, failed work, wrong input, unknown, a wait that ran out and an interrupt apart.",
  },
  U2: { states: "A run by hand uses up no slot, runs where a node is up or here, and keeps its output." },
  U3: { states: "A script before an agent decides whether it wakes, and its failure is told, not hidden." },
  U4: { states: "A job names its model, and a prompt too large to send is refused with its largest part." },
  W1: {
    states:
      "A workflow file is a graph and nothing else: no schedule, no recipients; one expression language, known spellings.",
  },
  W2: { states: "The seed's own workflow and config files are read and run as they are written there." },
  W3: { states: "What a task leaves out is filled in with the seed's defaults; bare numbers are seconds." },
  W4: {
    states:
      "A queue's width is its ceiling and its share, for all nodes of a store together; nobody waits for ever.",
  },
  W5: {
    states: "An executor that is known to be down is passed over at once; what no machine can do is refused.",
  },
  W6: { states: "Runs share an environment by its scope, and never use it at once where it is shared." },
  W7: { states: "An event starts a job once, whatever brought it." },
  G1: {
    states:
      "`dependsOn` waits for all; a transition activates its target, which starts at most once and is never a root.",
  },
  G2: { states: "The seed's line decides and alerts as it says, also where the sound analysis has failed." },
  G3: {
    states:
      "A failure that led to a task that ran is handled; the run's state follows from failures that were not.",
  },
  G4: { states: "A skip travels on as a skip, a failure skips what needed the task; reasons are on record." },
  G5: { states: "Circles, and references to what is not upstream, are refused before anything runs." },
  G6: {
    states: "Retries repeat one executor, then fallbacks get attempts of their own; each attempt is a row.",
  },
  G7: {
    states:
      "A time limit ends the attempt with all that it started, and does not count the time in the queue.",
  },
  G8: {
    states:
      "Resources are reserved as declared and compared with what is free; what does not fit says what is missing.",
  },
  G9: { states: "After a cancel handlers and `finally` run, and only then the run is cancelled." },
  G10: {
    states:
      "After a crash a run goes on from its last task that ended; declared effects decide about the one in flight.",
    learnedFrom: ["dagu#1103", "dagu#2040", "dagu#2298"],
  },
  G11: { states: "A retry keeps its idempotency key and raises its attempt number." },
  G12: {
    states: "A result is JSON and keeps its types; `status: error` in it fails the task, `warning` marks it.",
    learnedFrom: ["dagu#231", "dagu#917"],
  },
  G13: {
    states: "A reference that cannot be filled is an error, never text that a shell is given.",
    learnedFrom: ["dagu#2739"],
  },
} satisfies Record<string, Requirement>;
