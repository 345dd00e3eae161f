// The schemas of the environments that a cloud service runs: Modal, Daytona, Vercel.
//
// I1. An account and its address are a person's to name, in config.yaml: a job that could name its own address would be
//     handed the key (law 7).

import * as z from "zod/mini";
import { described, durationSchema, secretReference, text } from "./job-schema.ts";

/** Keys of a spec that stand in config.yaml only (I1). */
export const ACCOUNT_KEYS = [
  "apiUrl",
  "tokenId",
  "tokenSecret",
  "apiKey",
  "target",
  "token",
  "teamId",
  "projectId",
] as const;

const key = (variable: string) =>
  described(`A reference such as \${env:${variable}}. Left out: ${variable}.`, z.optional(secretReference()));

const common = () => ({
  scope: described(
    "Whose it is: each run's own (run), the job's (job), or everybody's who gives the same NAME.",
    z.optional(text()),
  ),
  network: described("none = no network at all.", z.optional(z.enum(["on", "none"]))),
  limits: described(
    "What it is made with.",
    z.optional(
      z.strictObject({
        cpu: described("Cores.", z.optional(z.number().check(z.gt(0)))),
        memoryMb: z.optional(z.int().check(z.gte(4))),
      }),
    ),
  ),
  persist: described(
    "Whether its files are kept for the next run of the same scope.",
    z.optional(z.boolean()),
  ),
  timeout: described("How long it may live, at most.", z.optional(durationSchema)),
  apiUrl: described(
    "The service's address, of a self-hosted one or a test. config.yaml only.",
    z.optional(text()),
  ),
});

/** Made on first use, as the other backends'. */
export const cloudSchemas = () => ({
  modal: z.strictObject({
    backend: z.literal("modal"),
    image: text(),
    ...common(),
    tokenId: key("MODAL_TOKEN_ID"),
    tokenSecret: key("MODAL_TOKEN_SECRET"),
  }),
  daytona: z.strictObject({
    backend: z.literal("daytona"),
    image: text(),
    ...common(),
    apiKey: key("DAYTONA_API_KEY"),
    target: described("A region. Left out: DAYTONA_TARGET, else the account's.", z.optional(text())),
  }),
  vercel: z
    .strictObject({
      backend: z.literal("vercel"),
      runtime: described("node24, python3.13 …", z.optional(text())),
      image: described("Of the account's registry, instead of a runtime.", z.optional(text())),
      ...common(),
      token: key("VERCEL_TOKEN"),
      teamId: described("Left out: VERCEL_TEAM_ID.", z.optional(text())),
      projectId: described("Left out: VERCEL_PROJECT_ID.", z.optional(text())),
    })
    .check(
      z.refine(
        ({ runtime, image }) => runtime === undefined || image === undefined,
        "names a runtime and an image; write one of them",
      ),
    ),
});

type Schemas = ReturnType<typeof cloudSchemas>;
export type ModalSpec = z.infer<Schemas["modal"]>;
export type DaytonaSpec = z.infer<Schemas["daytona"]>;
export type VercelSpec = z.infer<Schemas["vercel"]>;
export type CloudSpec = ModalSpec | DaytonaSpec | VercelSpec;
