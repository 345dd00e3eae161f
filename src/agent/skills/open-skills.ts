// The skills of a home: folders in `skills/`, found when asked for. It writes nothing.
//
// I1. A file of a skill lies, links followed, inside the skill's folder; the folder itself may be a link, for a person
//     made it.
// I2. One broken skill does not hide the others.

import { open, readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { Fault, isFault, messageOf, nearestWord, sayFault } from "../../kernel/errors.ts";
import { MAX_SKILL_CHARACTERS, parseSkill, type Skill } from "./skill.ts";

/** Bytes read of a skill's file; a character has at most four. */
const MAX_FILE_BYTES = 4 * MAX_SKILL_CHARACTERS;
/** Names in a listing of a skill's folder. */
const MAX_LISTED = 200;

export interface SkillListing {
  /** By name. */
  skills: { name: string; description: string }[];
  /** A sentence for each that cannot be used. */
  problems: string[];
}

export interface Skills {
  list(): Promise<SkillListing>;
  /**
   * In the order asked for, each once.
   * @throws Fault `skill.missing` naming the nearest, `skill.invalid`.
   */
  load(names: readonly string[]): Promise<Skill[]>;
  /**
   * A text file inside a skill's folder, and whether it was cut; the path is relative to it.
   * @throws Fault `skill.missing`, `skill.invalid`, `input.not-found`, `input.refused`.
   */
  readFile(name: string, path: string): Promise<{ text: string; isCut: boolean }>;
  /** Paths of the files in a skill's folder, SKILL.md left out. Throws as `readFile`. */
  files(name: string): Promise<string[]>;
}

/** Over the folder `skillsFolder`; one that does not exist holds none. */
export function openSkills(skillsFolder: string): Skills {
  const loadOne = async (name: string): Promise<Skill> => {
    const names = await folderNames(skillsFolder);
    if (!names.includes(name)) throw missing(name, names, skillsFolder);
    return await readSkill(skillsFolder, name);
  };
  return {
    async list() {
      const listing: SkillListing = { skills: [], problems: [] };
      for (const folderName of await folderNames(skillsFolder)) {
        try {
          const { name, description } = await readSkill(skillsFolder, folderName);
          listing.skills.push({ name, description });
        } catch (error) {
          listing.problems.push(isFault(error) ? sayFault(error) : messageOf(error));
        }
      }
      return listing;
    },
    async load(names) {
      const skills: Skill[] = [];
      for (const name of new Set(names)) skills.push(await loadOne(name));
      return skills;
    },
    async readFile(name, path) {
      const { folder } = await loadOne(name);
      return await readInside(folder, name, path);
    },
    async files(name) {
      const { folder } = await loadOne(name);
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1))
        .filter((path) => path !== "SKILL.md" && !path.split(sep).includes(".git"))
        .sort()
        .slice(0, MAX_LISTED);
    },
  };
}

/** Folders with a SKILL.md, by name; hidden ones are nobody's skill. */
async function folderNames(skillsFolder: string): Promise<string[]> {
  const names = await readdir(skillsFolder).catch(() => []);
  const found: string[] = [];
  for (const name of names.filter((candidate) => !candidate.startsWith(".")).sort()) {
    const file = await stat(join(skillsFolder, name, "SKILL.md")).catch(() => undefined);
    if (file?.isFile()) found.push(name);
  }
  return found;
}

async function readSkill(skillsFolder: string, folderName: string): Promise<Skill> {
  const folder = await realpath(join(skillsFolder, folderName));
  const { text } = await readInside(folder, folderName, "SKILL.md");
  return parseSkill(text, { folder, folderName });
}

async function readInside(
  folder: string,
  name: string,
  path: string,
): Promise<{ text: string; isCut: boolean }> {
  const real = await realpath(join(folder, path)).catch(() => undefined);
  if (real === undefined || path.includes("\0"))
    throw new Fault("input.not-found", `the skill ${name} has no file ${JSON.stringify(path)}`, {
      hint: "Read the skill without `file`: its answer lists what is there.",
    });
  if (!real.startsWith(`${folder}${sep}`))
    throw new Fault("input.refused", `${JSON.stringify(path)} leads out of the skill's folder`, {
      hint: "Name a file inside it.",
    });
  return await readText(real, `${name}/${path}`);
}

async function readText(path: string, shown: string): Promise<{ text: string; isCut: boolean }> {
  const file = await open(path).catch((error: unknown) => {
    throw new Fault("input.refused", `${shown} cannot be read: ${messageOf(error)}`, {
      hint: "Check its permissions.",
      cause: error,
    });
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile())
      throw new Fault("input.refused", `${shown} is no file`, { hint: "Name a file inside the skill." });
    const buffer = Buffer.alloc(Math.min(stats.size, MAX_FILE_BYTES));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    const bytes = buffer.subarray(0, bytesRead);
    if (bytes.includes(0))
      throw new Fault("input.refused", `${shown} is a binary file`, { hint: "Use it by its path instead." });
    return { text: new TextDecoder("utf-8").decode(bytes), isCut: stats.size > bytesRead };
  } finally {
    await file.close();
  }
}

function missing(name: string, known: readonly string[], skillsFolder: string): Fault {
  const nearest = nearestWord(name, known);
  const hint =
    nearest === undefined
      ? `Make ${join(skillsFolder, name, "SKILL.md")}, or use one of: ${known.join(", ") || "(there are none)"}.`
      : `Did you mean "${nearest}"?`;
  return new Fault("skill.missing", `there is no skill "${name}"`, { hint, details: { known } });
}
