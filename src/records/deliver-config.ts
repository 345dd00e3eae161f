// `deliver.<platform>` in config.yaml: how each platform is reached. Credentials are references, everything else is plain.
//
// I1. A platform that is not configured is no mistake; one that lacks what it needs says so where it is used.

import * as z from "zod/mini";
import { secretReference, text } from "./job-schema.ts";

const common = () => ({
  /** The home channel, as an address of this platform. */
  home: z.optional(text()),
  /** Whether `@everyone` and its like may ring. Default: false. */
  allowMentions: z.optional(z.boolean()),
});

const baseUrl = () => z.url({ protocol: /^https?$/ });

const NO_USER = "is no user id; write the number that Telegram has for the person";

/** Telegram's are numbers, which YAML may read as such. */
const userId = () =>
  z.union([z.int().check(z.positive()), z.string().check(z.regex(/^\d+$/, NO_USER))], {
    error: () => NO_USER,
  });

const namedWebhook = () => z.strictObject({ url: secretReference(), secret: z.optional(secretReference()) });

/** `webhook` is the one called `default`; `webhooks` have names of their own. */
const webhooks = () => ({
  webhook: z.optional(secretReference()),
  /** Signs what goes to `webhook`. */
  secret: z.optional(secretReference()),
  webhooks: z.optional(z.record(z.string(), namedWebhook())),
});

/** Platforms of chats. */
const chatSchemas = () => ({
  telegram: z.strictObject({
    ...common(),
    token: secretReference(),
    baseUrl: z.optional(baseUrl()),
    /** Sends without a sound. */
    silent: z.optional(z.boolean()),
    /** Takes commands from these users, by their ids. Default: from nobody. */
    listen: z.optional(z.strictObject({ users: z.array(userId()).check(z.minLength(1)) })),
  }),
  slack: z.strictObject({
    ...common(),
    ...webhooks(),
    token: z.optional(secretReference()),
    baseUrl: z.optional(baseUrl()),
  }),
  discord: z.strictObject({
    ...common(),
    ...webhooks(),
    token: z.optional(secretReference()),
    baseUrl: z.optional(baseUrl()),
  }),
  matrix: z.strictObject({ ...common(), baseUrl: baseUrl(), token: secretReference() }),
  mattermost: z.strictObject({
    ...common(),
    ...webhooks(),
    token: z.optional(secretReference()),
    baseUrl: z.optional(baseUrl()),
  }),
  teams: z.strictObject({ ...common(), ...webhooks() }),
  googlechat: z.strictObject({ ...common(), ...webhooks() }),
  feishu: z.strictObject({ ...common(), ...webhooks() }),
  dingtalk: z.strictObject({ ...common(), ...webhooks() }),
  wecom: z.strictObject({ ...common(), ...webhooks() }),
});

/** Notices, mail and programs. */
const noticeSchemas = () => ({
  ntfy: z.strictObject({
    ...common(),
    token: z.optional(secretReference()),
    baseUrl: z.optional(baseUrl()),
  }),
  gotify: z.strictObject({ ...common(), baseUrl: baseUrl(), token: secretReference() }),
  pushover: z.strictObject({ ...common(), token: secretReference(), baseUrl: z.optional(baseUrl()) }),
  email: z.strictObject({
    ...common(),
    host: text(),
    /** Default: 465 for `tls`, else 587. */
    port: z.optional(z.int().check(z.gte(1), z.lte(65_535))),
    /** `starttls` (default) and `tls` refuse to go on without encryption; `none` is for a relay on this machine. */
    security: z.optional(z.enum(["starttls", "tls", "none"])),
    user: z.optional(text()),
    password: z.optional(secretReference()),
    from: text(),
  }),
  mqtt: z.strictObject({
    ...common(),
    url: z.url({ protocol: /^(mqtts?|wss?)$/ }),
    user: z.optional(text()),
    password: z.optional(secretReference()),
    retain: z.optional(z.boolean()),
  }),
  command: z.strictObject({
    ...common(),
    /** A name and the program with its arguments; the message comes on its standard input. */
    programs: z.record(z.string(), z.array(z.string()).check(z.minLength(1))),
  }),
});

const makeSchemas = () => ({ ...chatSchemas(), ...noticeSchemas() });

type Schemas = ReturnType<typeof makeSchemas>;

/** What a person may write for each platform. Secrets are references until they are used. */
export type PlatformConfigs = { [Name in keyof Schemas]: z.infer<Schemas[Name]> };

/** The keys of `deliver` that configure a platform, as optional schemas. */
export function platformSchemas(): { [Name in keyof Schemas]: z.ZodMiniOptional<Schemas[Name]> } {
  const schemas = makeSchemas();
  return {
    telegram: z.optional(schemas.telegram),
    slack: z.optional(schemas.slack),
    discord: z.optional(schemas.discord),
    matrix: z.optional(schemas.matrix),
    mattermost: z.optional(schemas.mattermost),
    teams: z.optional(schemas.teams),
    googlechat: z.optional(schemas.googlechat),
    feishu: z.optional(schemas.feishu),
    dingtalk: z.optional(schemas.dingtalk),
    wecom: z.optional(schemas.wecom),
    ntfy: z.optional(schemas.ntfy),
    gotify: z.optional(schemas.gotify),
    pushover: z.optional(schemas.pushover),
    email: z.optional(schemas.email),
    mqtt: z.optional(schemas.mqtt),
    command: z.optional(schemas.command),
  };
}
