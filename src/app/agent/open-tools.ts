// The tools of one run, by the toolsets it is granted: one line each.

import { openSkills } from "../../agent/skills/open-skills.ts";
import { makeListFolderTool } from "../../agent/tools/list-folder.ts";
import { makePatchFileTool } from "../../agent/tools/patch-file.ts";
import { makePathGuard } from "../../agent/tools/path-guard.ts";
import { makeProcessTool } from "../../agent/tools/process.ts";
import { makeReadFileTool } from "../../agent/tools/read-file.ts";
import { makeSearchFilesTool } from "../../agent/tools/search-files.ts";
import { makeSkillTools } from "../../agent/tools/skills.ts";
import { makeTerminalTool } from "../../agent/tools/terminal.ts";
import { makeTodoTool } from "../../agent/tools/todo.ts";
import { makeWebFetchTool } from "../../agent/tools/web-fetch.ts";
import { makeWriteFileTool } from "../../agent/tools/write-file.ts";
import { makeAllowAddress } from "../../kernel/private-addresses.ts";
import type { Job } from "../../records/job.ts";
import type { RunContext } from "../../records/run-context.ts";
import type { Tool } from "../../records/tool.ts";
import { makeCronjobTool } from "../agent-tools/cronjob.ts";
import type { Context } from "../context.ts";
import type { AgentDeps } from "./agent-deps.ts";
import type { Place } from "./open-place.ts";

export interface OpenedTools {
  tools: readonly Tool[];
  /** Servers that could not be reached, one sentence each. */
  problems: readonly string[];
  close(): Promise<void>;
}

/** What a run is granted, and what its tools are made of. */
export interface ToolsOf {
  context: Context;
  place: Place;
  toolsets: readonly string[];
  /** The `cronjob` tool, where it is granted. */
  cronjob(): Tool;
}

export function grantedTools(
  { context, isAttended = false }: AgentDeps,
  { job, toolsets }: { job: Job; toolsets: readonly string[] },
  { ctx, place }: { ctx: RunContext; place: Place },
): ToolsOf {
  // A person's own session schedules freely; a run that the config lets schedule is still known as a run (S1).
  const caller = isAttended ? {} : { caller: { runId: ctx.run.id, jobId: ctx.run.jobId } };
  const cronjob = () =>
    makeCronjobTool({
      context: { ...context, actor: `agent:${ctx.run.id}` },
      ...(job.origin && { origin: job.origin }),
      ...caller,
    });
  return { context, place, toolsets, cronjob };
}

interface Toolset {
  /** Of its tools, as models call them. */
  names: readonly string[];
  open(deps: ToolsOf): Tool[];
}

const FILE_TOOLS = ["read_file", "write_file", "patch_file", "search_files", "list_folder"];

const TOOLSETS: Readonly<Record<string, Toolset>> = {
  terminal: {
    names: ["terminal"],
    open: ({ place }) => [makeTerminalTool({ environment: place.environment })],
  },
  process: { names: ["process"], open: ({ place }) => [makeProcessTool(place.processes)] },
  files: { names: FILE_TOOLS, open: fileTools },
  web: {
    names: ["web_fetch"],
    open: ({ context: { clock, config } }) => [
      makeWebFetchTool({ clock, allow: makeAllowAddress(config.agentDefaults.allowPrivate ?? []) }),
    ],
  },
  skills: {
    names: ["skills_list", "skill_read"],
    open: ({ context, place }) =>
      makeSkillTools({
        skills: openSkills(context.home.paths.skillsFolder),
        pathOf: (folder) => (place.isLocal ? folder : undefined),
      }),
  },
  todo: { names: ["todo"], open: () => [makeTodoTool()] },
  cronjob: { names: ["cronjob"], open: ({ cronjob }) => [cronjob()] },
};

/** The tools that every Nightshift has, granted or not: the columns of a conversation's statistics (DESIGN §13). */
export const BUILT_IN_TOOLS: readonly string[] = Object.values(TOOLSETS).flatMap(({ names }) => names);

/** Throws only the signal's reason; a server that cannot be reached is a problem told. */
export async function openTools(
  deps: ToolsOf,
  isWanted: (toolset: string) => boolean,
  signal: AbortSignal,
): Promise<OpenedTools> {
  const toolsets = deps.toolsets.filter(isWanted);
  const own = toolsets.flatMap((name) => TOOLSETS[name]?.open(deps) ?? []);
  const { mcpServers } = deps.context.config;
  const servers = Object.fromEntries(Object.entries(mcpServers).filter(([name]) => toolsets.includes(name)));
  if (Object.keys(servers).length === 0) return { tools: own, problems: [], close: async () => {} };
  const { context, place } = deps;
  const { openMcpTools } = await import("../../agent/tools/mcp-client.ts");
  const opened = await openMcpTools({
    servers,
    resolve: (text) => context.resolveReferences(text),
    env: context.env,
    marks: place.marks,
    ...(place.isLocal && { cwd: place.environment.cwd }),
    version: context.version,
    clock: context.clock,
    signal,
  });
  return { tools: [...own, ...opened.tools], problems: opened.problems, close: () => opened.close() };
}

/** S1. Skills may be read; what an agent could write there, later runs would follow. */
function fileTools({ context, place }: ToolsOf): Tool[] {
  const { root, skillsFolder } = context.home.paths;
  const { environment, allowed } = place;
  const guards = {
    guardPath: makePathGuard({ home: root, allowed: [...allowed, skillsFolder] }),
    guardWrite: makePathGuard({ home: root, allowed }),
    skipFolders: [root],
  };
  const deps = { environment, ...(place.isLocal ? guards : { guardPath: () => undefined }) };
  return [
    makeReadFileTool(deps),
    makeWriteFileTool(deps),
    makePatchFileTool(deps),
    makeSearchFilesTool(deps),
    makeListFolderTool(deps),
  ];
}
