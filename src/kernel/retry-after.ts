// `Retry-After`: seconds, or an HTTP date. @source RFC 9110 §10.2.3

import { type Instant, SECOND } from "./time.ts";

/** How long a server asks to wait, from `now`; undefined when it does not, or unreadably. Never negative. */
export function retryAfterMs(header: string | undefined, now: Instant): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(Number(text) * SECOND, Number.MAX_SAFE_INTEGER);
  // Only the forms RFC 9110 names begin with a weekday; `Date.parse` alone would take almost anything.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
