// Packages that people install beside Nightshift when they want them.

/** What `load` imports; undefined when the package is not installed. Any other failure of its is passed on. */
export async function ifInstalled<Module>(load: () => Promise<Module>): Promise<Module | undefined> {
  try {
    return await load();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}
