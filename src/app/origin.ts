// Where a request on the command line came from (O4).

import { readOrigin } from "../deliver/origin.ts";
import type { Origin } from "../records/delivery.ts";
import type { Context } from "./context.ts";

/** `--origin`, else NIGHTSHIFT_ORIGIN_PLATFORM, _CHAT and _THREAD. Throws `target.unknown`, `target.refused`. */
export function readOriginFrom(
  context: Pick<Context, "env" | "platforms">,
  flag: string | undefined,
): Origin | undefined {
  const { env, platforms } = context;
  const environment = {
    platform: env.NIGHTSHIFT_ORIGIN_PLATFORM,
    chat: env.NIGHTSHIFT_ORIGIN_CHAT,
    thread: env.NIGHTSHIFT_ORIGIN_THREAD,
  };
  return readOrigin({ flag, environment }, platforms);
}
