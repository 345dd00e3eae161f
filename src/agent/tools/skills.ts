// The tools of the `skills` toolset: which skills there are, and what one says.

import * as z from "zod/mini";
import { headWithNote } from "../../kernel/bound-text.ts";
import type { Tool, ToolResult } from "../../records/tool.ts";
import { defineTool } from "../define-tool.ts";
import type { Skills } from "../skills/open-skills.ts";
import { orSentence } from "./mendable.ts";

const MAX_TEXT = 60_000;

export interface SkillToolDeps {
  skills: Skills;
  /** Where a skill's folder lies as the run's environment sees it; undefined = its files are not there. */
  pathOf(folder: string): string | undefined;
}

/** `skills_list` and `skill_read`. */
export function makeSkillTools(deps: SkillToolDeps): Tool[] {
  return [
    defineTool({
      name: "skills_list",
      toolset: "skills",
      description:
        "Lists the skills there are, with what each is for: written instructions for a kind of work.",
      schema: z.strictObject({}),
      isParallelSafe: true,
      run: async () => {
        const { skills, problems } = await deps.skills.list();
        return { error: null, skills, ...(problems.length > 0 ? { problems } : {}) };
      },
    }),
    defineTool({
      name: "skill_read",
      toolset: "skills",
      description: SKILL_READ_TEXT,
      schema: z.strictObject({
        name: z.string().check(z.minLength(1), z.describe("The skill's name.")),
        file: z.optional(
          z.string().check(z.minLength(1), z.describe("A file of the skill, relative to it.")),
        ),
      }),
      isParallelSafe: true,
      summarise: ({ name, file }) => (file === undefined ? name : `${name}/${file}`),
      run: ({ name, file }) =>
        orSentence(() => (file === undefined ? readWhole(deps, name) : readOne(deps, name, file))),
    }),
  ];
}

async function readWhole({ skills, pathOf }: SkillToolDeps, name: string): Promise<ToolResult> {
  const [skill] = await skills.load([name]);
  if (!skill) return { error: `There is no skill ${name}.` };
  const path = pathOf(skill.folder);
  return {
    error: null,
    name,
    ...(path === undefined ? {} : { folder: path }),
    files: await skills.files(name),
    instructions: skill.body,
  };
}

async function readOne({ skills }: SkillToolDeps, name: string, file: string): Promise<ToolResult> {
  const { text, isCut } = await skills.readFile(name, file);
  const shown = headWithNote(text, MAX_TEXT);
  return { error: null, name, file, content: shown, isCut: isCut || shown !== text };
}

const SKILL_READ_TEXT =
  "Reads a skill: its instructions, the names of its files, and the folder where they lie, so that scripts in it can be run by their path. With `file`, reads that text file of it.";
