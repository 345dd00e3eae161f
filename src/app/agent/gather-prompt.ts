// Everything an agent is told at its start, gathered from the home, the workdir and other jobs, then scanned (S1).
//
// I1. The person's prompt is scanned strictly; what was brought from elsewhere loosely, with invisible characters taken
//     out first. A block ends the run loudly (`prompt.blocked`).

import { stripInvisible } from "../../agent/guard/invisible.ts";
import {
  assemblePrompt,
  type PromptEvent,
  type PromptInput,
  type ScriptReport,
} from "../../agent/prompt/assemble-prompt.ts";
import { readContextFiles } from "../../agent/prompt/read-context-files.ts";
import { openSkills } from "../../agent/skills/open-skills.ts";
import type { AgentWork } from "../../records/agent-work.ts";
import type { Message } from "../../records/conversation.ts";
import type { Job } from "../../records/job.ts";
import type { Run } from "../../records/run.ts";
import { type TriggerEventDocument, triggerText } from "../../records/trigger.ts";
import { readHomeFile } from "../../store/files/home.ts";
import type { Context } from "../context.ts";
import { targetTexts } from "../job-documents.ts";
import { triggerOfRun } from "../trigger-of-run.ts";
import { earlierOutputs } from "./context-from.ts";
import { requirePass } from "./judge-prompt.ts";

export interface PromptFacts {
  job: Job;
  agent: AgentWork;
  run: Run;
  script: ScriptReport | undefined;
  /** Where commands start, as the agent sees it. */
  cwd: string | undefined;
  /** Whether the skills toolset is granted. */
  hasSkillTools: boolean;
  isAttended: boolean;
}

/** Throws `input.too-large`, `prompt.blocked`, `skill.*`. */
export async function gatherPrompt(context: Context, facts: PromptFacts): Promise<Message[]> {
  const { job, agent, run } = facts;
  const skills = openSkills(context.home.paths.skillsFolder);
  const [soul, loaded, listing, contextFiles, earlier, event] = await Promise.all([
    readHomeFile(context.home.paths.soulFile),
    skills.load(agent.skills),
    facts.hasSkillTools ? skills.list() : { skills: [] },
    job.workdir === undefined ? [] : readContextFiles(job.workdir),
    earlierOutputs(context, agent.contextFrom, job.id),
    triggerOfRun(context, run),
  ]);
  const input: PromptInput = {
    soul: soul?.text,
    run: {
      runId: run.id,
      jobId: run.jobId,
      cwd: facts.cwd,
      readers: facts.isAttended ? "terminal" : targetTexts(job),
    },
    now: context.clock.now(),
    timezone: job.timezone,
    skills: loaded,
    otherSkills: listing.skills.filter(({ name }) => !agent.skills.includes(name)),
    contextFiles,
    event: event && promptEvent(context, event),
    script: facts.script,
    contextFrom: earlier,
    prompt: agent.prompt,
  };
  return assemblePrompt(scanned(input));
}

/** Secrets that a sender knows, too, are not for a model (law 7). */
function promptEvent({ redact }: Pick<Context, "redact">, event: TriggerEventDocument): PromptEvent {
  const { trigger, receivedAt, data } = event;
  const text = typeof data === "string" ? data : JSON.stringify(data, null, 2);
  return { trigger: triggerText(trigger), receivedAt: Date.parse(receivedAt), text: redact(text) };
}

/** The same input without invisible characters in what was injected. Throws `prompt.blocked` (I1). */
function scanned(input: PromptInput): PromptInput {
  requirePass(input.prompt, "strict", "the prompt");
  const clean = (text: string, of: string): string => {
    const visible = stripInvisible(text);
    requirePass(visible, "loose", of);
    return visible;
  };
  return {
    ...input,
    skills: input.skills.map((skill) => ({ ...skill, body: clean(skill.body, `the skill ${skill.name}`) })),
    contextFiles: input.contextFiles.map((file) => ({ ...file, text: clean(file.text, file.name) })),
    event: input.event && { ...input.event, text: clean(input.event.text, "the event's data") },
    script: input.script && cleanScript(input.script, clean),
    contextFrom: input.contextFrom.map((one) => ({
      ...one,
      output: one.output && { ...one.output, text: clean(one.output.text, `the output of ${one.jobId}`) },
    })),
  };
}

function cleanScript(script: ScriptReport, clean: (text: string, of: string) => string): ScriptReport {
  const stdout = clean(script.stdout, "the script's output");
  if (script.kind === "output") return { ...script, stdout };
  return { ...script, stdout, stderr: clean(script.stderr, "the script's errors") };
}
