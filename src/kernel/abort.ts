// Cancellation: linked controllers that detach themselves, so a long-lived parent never collects dead children.

/** A controller that aborts with its parent's reason; `release` detaches it (idempotent). */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  release(): void;
}

/** Links a new controller to `parent`. The caller must `release` it when its work has ended. */
export function linkAbort(parent?: AbortSignal): LinkedAbort {
  const controller = new AbortController();
  const follow = () => controller.abort(parent?.reason);
  if (parent?.aborted) follow();
  else parent?.addEventListener("abort", follow, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => parent?.removeEventListener("abort", follow),
  };
}

/** Resolves when `signal` aborts; `release` in the returned object detaches it. */
export function whenAborted(signal: AbortSignal): { promise: Promise<void>; release: () => void } {
  let listener = () => {};
  const promise = new Promise<void>((resolve) => {
    listener = resolve;
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", listener, { once: true });
  });
  return { promise, release: () => signal.removeEventListener("abort", listener) };
}
