import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openSkills } from "../../../src/agent/skills/open-skills.ts";
import { parseSkill } from "../../../src/agent/skills/skill.ts";
import { makeSkillTools } from "../../../src/agent/tools/skills.ts";
import { isFault } from "../../../src/kernel/errors.ts";
import { tempFolder } from "../../support/temp.ts";
import { call } from "../tools/room.ts";

const skillText = (name: string, description = "Triage of logs", body = "Count first.") =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;

async function folder(files: Record<string, string>) {
  const root = await tempFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

async function faultOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (isFault(error)) return `${error.code} | ${error.message} | ${error.hint}`;
    throw error;
  }
  return "no fault";
}

describe("a SKILL.md", () => {
  const place = { folder: "/skills/log-triage", folderName: "log-triage" };

  test("all keys of the open format are read, unknown ones are left alone", () => {
    const text = [
      "---",
      "name: log-triage",
      'description: "Sorts log errors: use it for log files."',
      "license: MIT",
      "compatibility: Needs jq",
      "allowed-tools: Read Bash(git add *), Bash(jq:*)",
      "metadata:",
      "  author: ops",
      "  version: 1.2",
      "model: haiku",
      "---",
      "# Steps",
      "",
      "---",
      "Count.",
    ].join("\r\n");

    expect(parseSkill(text, place)).toEqual({
      name: "log-triage",
      description: "Sorts log errors: use it for log files.",
      license: "MIT",
      compatibility: "Needs jq",
      allowedTools: ["Read", "Bash(git add *)", "Bash(jq:*)"],
      metadata: { author: "ops", version: "1.2" },
      body: "# Steps\r\n\r\n---\r\nCount.",
      folder: "/skills/log-triage",
    });
  });

  test.each([
    ["# Steps\n", "has no front matter", "Begin it with a line `---`"],
    ["---\nname: log-triage\n---\n", "description is missing", "Add it"],
    ["---\nname: log-triage\ndescription: ' '\n---\n", "description is empty", "Say what the skill does"],
    [skillText("log-triage", "x".repeat(1_025)), "description is too long", "at most 1024 characters"],
    [skillText("Log_Triage"), '"Log_Triage" is no skill\'s name', "lower-case letters"],
    [skillText("other"), 'its name is "other", its folder\'s is "log-triage"', "Give both the same name"],
    [skillText("log-triage", "Use it: for logs"), "skills/log-triage/SKILL.md:3:", "colon and a space"],
    [`${skillText("log-triage")}${"x".repeat(60_000)}`, "characters", "Keep at most 60000"],
  ])("a mistake is told with what to do: %j", async (text, what, hint) => {
    const fault = await faultOf(() => parseSkill(text, place));

    expect(fault).toMatch(/^skill\.invalid \| skills\/log-triage\/SKILL\.md/);
    expect(fault).toContain(what);
    expect(fault).toContain(hint);
  });
});

describe("the skills of a home", () => {
  test("they are listed by name, and a broken one hides no other", async () => {
    const root = await folder({
      "pdf/SKILL.md": skillText("pdf", "Reads PDF files"),
      "broken/SKILL.md": "no front matter",
      "log-triage/SKILL.md": skillText("log-triage"),
      "notes/readme.md": "",
      ".hidden/SKILL.md": skillText("hidden"),
    });

    expect(await openSkills(root).list()).toEqual({
      skills: [
        { name: "log-triage", description: "Triage of logs" },
        { name: "pdf", description: "Reads PDF files" },
      ],
      problems: [expect.stringContaining("skills/broken/SKILL.md has no front matter")],
    });
    expect(await openSkills(join(root, "gone")).list()).toEqual({ skills: [], problems: [] });
  });

  test("a job's skills load in order, each once; a missing one names the nearest", async () => {
    const root = await folder({
      "pdf/SKILL.md": skillText("pdf"),
      "log-triage/SKILL.md": skillText("log-triage"),
    });
    const skills = openSkills(root);

    const loaded = await skills.load(["pdf", "log-triage", "pdf"]);

    expect(loaded.map(({ name }) => name)).toEqual(["pdf", "log-triage"]);
    expect(await faultOf(() => skills.load(["log-trige"]))).toBe(
      'skill.missing | there is no skill "log-trige" | Did you mean "log-triage"?',
    );
    expect(await faultOf(() => skills.load(["../pdf"]))).toMatch(/^skill\.missing/);
    expect(await faultOf(() => skills.load(["weather-report"]))).toContain("use one of: log-triage, pdf");
  });

  test("a skill's folder may be a link that a person made", async () => {
    const elsewhere = await folder({ "SKILL.md": skillText("pdf"), "scripts/run.sh": "echo 1\n" });
    const root = await tempFolder();
    await symlink(elsewhere, join(root, "pdf"));

    const [skill] = await openSkills(root).load(["pdf"]);

    expect(skill?.folder).toBe(elsewhere);
    expect(await openSkills(root).readFile("pdf", "scripts/run.sh")).toEqual({
      text: "echo 1\n",
      isCut: false,
    });
  });

  test("no path leads out of a skill's folder", async () => {
    const root = await folder({
      "pdf/SKILL.md": skillText("pdf"),
      "pdf/a/b.md": "b",
      "pdf-2/SKILL.md": "x",
      secret: "s",
    });
    await symlink(join(root, "secret"), join(root, "pdf", "link"));
    const skills = openSkills(root);

    for (const path of ["../secret", "a/../../secret", "link", "../pdf-2/SKILL.md", join(root, "secret")])
      expect(await faultOf(() => skills.readFile("pdf", path)), path).toMatch(/^input\.(refused|not-found)/);
    expect(await faultOf(() => skills.readFile("pdf", "a"))).toMatch(/^input\.refused/);
    expect(await faultOf(() => skills.readFile("pdf", "gone.md"))).toMatch(/^input\.not-found/);
    expect(await skills.readFile("pdf", "a/../a/b.md")).toEqual({ text: "b", isCut: false });
  });
});

describe("the skills toolset", () => {
  async function tools() {
    const root = await folder({
      "pdf/SKILL.md": skillText("pdf", "Reads PDF files", "Run scripts/text.sh."),
      "pdf/scripts/text.sh": "pdftotext\n",
      "pdf/blob": "\0",
    });
    const [list, read] = makeSkillTools({
      skills: openSkills(root),
      pathOf: (path) => path.replace(root, "/skills"),
    });
    if (!list || !read) throw new Error("two tools were expected");
    return { root, list, read };
  }

  test("a model finds a skill, reads it, and is told where its files lie", async () => {
    const { list, read } = await tools();

    expect(await call(list, {})).toEqual({
      error: null,
      skills: [{ name: "pdf", description: "Reads PDF files" }],
    });
    expect(await call(read, { name: "pdf" })).toEqual({
      error: null,
      name: "pdf",
      folder: "/skills/pdf",
      files: ["blob", "scripts/text.sh"],
      instructions: "Run scripts/text.sh.",
    });
    expect(await call(read, { name: "pdf", file: "scripts/text.sh" })).toEqual({
      error: null,
      name: "pdf",
      file: "scripts/text.sh",
      content: "pdftotext\n",
      isCut: false,
    });
  });

  test("what cannot be read is a sentence", async () => {
    const { root, read } = await tools();

    expect((await call(read, { name: "pdg" })).error).toBe('there is no skill "pdg". Did you mean "pdf"?');
    expect((await call(read, { name: "pdf", file: "../../x" })).error).toMatch(/has no file|leads out/);
    expect((await call(read, { name: "pdf", file: "blob" })).error).toMatch(/binary/);
    await rm(join(root, "pdf"), { recursive: true });
    expect((await call(read, { name: "pdf" })).error).toMatch(/no skill/);
  });
});
