// The door to modules of the person's own: `import()` as Node means it. The CLI's bundle runs from a code cache, where
// `import()` has no one to answer it before Node 22; this file is bundled beside it (scripts/build.mjs).

/** Imports a module by its URL. A query makes it another module: how a changed file is read anew. */
export function importModule(url: string): Promise<Record<string, unknown>> {
  return import(/* @vite-ignore */ url) as Promise<Record<string, unknown>>;
}
