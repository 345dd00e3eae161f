// The table of adapters: one line each. A new platform is one file here and one line below.

import type { Clock } from "../../kernel/time.ts";
import type { PlatformConfigs } from "../../records/deliver-config.ts";
import { type AdapterTable, adapterTable } from "../adapter-table.ts";
import type { PlatformDeps } from "../platforms/ask.ts";
import type { Settings } from "../platforms/settings.ts";
import { type CommandOptions, makeCommandAdapter } from "./command.ts";
import { makeDingTalkAdapter } from "./dingtalk.ts";
import { makeDiscordAdapter } from "./discord.ts";
import { makeEmailAdapter } from "./email.ts";
import { makeFeishuAdapter } from "./feishu.ts";
import { makeGoogleChatAdapter } from "./google-chat.ts";
import { makeGotifyAdapter } from "./gotify.ts";
import { type LocalOptions, makeLocalAdapter } from "./local.ts";
import { makeMatrixAdapter } from "./matrix.ts";
import { makeMattermostAdapter } from "./mattermost.ts";
import { makeMqttAdapter } from "./mqtt.ts";
import { makeNtfyAdapter } from "./ntfy.ts";
import { makeProfileAdapter, type ProfileOptions } from "./profile.ts";
import { makePushoverAdapter } from "./pushover.ts";
import { makeSlackAdapter } from "./slack.ts";
import { makeStdoutAdapter, type StdoutOptions } from "./stdout.ts";
import { makeTeamsAdapter } from "./teams.ts";
import { makeTelegramAdapter } from "./telegram.ts";
import { makeWebhookAdapter, type WebhookOptions } from "./webhook.ts";
import { makeWeComAdapter } from "./wecom.ts";

/** The settings of each platform, as far as it is configured. */
export type PlatformSettings = { [Name in keyof PlatformConfigs]?: Settings<PlatformConfigs[Name]> };

export interface AdapterOptions {
  clock: Clock;
  local: Omit<LocalOptions, "clock">;
  /** Default: this process gives no standard output. */
  stdout?: Omit<StdoutOptions, "clock">;
  /** Default: no named webhooks, no secret, no private address. */
  webhook?: Omit<WebhookOptions, "clock">;
  /** Default: other homes are out of reach. */
  profile?: Omit<ProfileOptions, "clock">;
  /** Default: none is configured; their addresses are read all the same. */
  platforms?: PlatformSettings;
  /** How platforms are reached. Default: no private address. */
  reach?: Omit<PlatformDeps, "clock">;
  /** Default: a delivery program gets no environment but ours. */
  command?: CommandOptions;
}

const MISSING = { kind: "missing" } as const;

/** Every adapter of this version. Throws `config.invalid` for settings that could never work (a malformed secret). */
export function makeAdapters({ clock, platforms = {}, ...options }: AdapterOptions): AdapterTable {
  const deps: PlatformDeps = { clock, allow: () => false, ...options.reach };
  return adapterTable([
    makeTelegramAdapter(deps, platforms.telegram ?? MISSING),
    makeSlackAdapter(deps, platforms.slack ?? MISSING),
    makeDiscordAdapter(deps, platforms.discord ?? MISSING),
    makeMatrixAdapter(deps, platforms.matrix ?? MISSING),
    makeMattermostAdapter(deps, platforms.mattermost ?? MISSING),
    makeTeamsAdapter(deps, platforms.teams ?? MISSING),
    makeGoogleChatAdapter(deps, platforms.googlechat ?? MISSING),
    makeFeishuAdapter(deps, platforms.feishu ?? MISSING),
    makeDingTalkAdapter(deps, platforms.dingtalk ?? MISSING),
    makeWeComAdapter(deps, platforms.wecom ?? MISSING),
    makeNtfyAdapter(deps, platforms.ntfy ?? MISSING),
    makeGotifyAdapter(deps, platforms.gotify ?? MISSING),
    makePushoverAdapter(deps, platforms.pushover ?? MISSING),
    makeEmailAdapter(deps, platforms.email ?? MISSING),
    makeMqttAdapter(deps, platforms.mqtt ?? MISSING),
    makeCommandAdapter(deps, platforms.command ?? MISSING, { env: {}, ...options.command }),
    makeLocalAdapter({ clock, ...options.local }),
    makeStdoutAdapter({ clock, write: undefined, ...options.stdout }),
    makeWebhookAdapter({ clock, ...options.webhook }),
    makeProfileAdapter({ clock, handOver: undefined, ...options.profile }),
  ]);
}
