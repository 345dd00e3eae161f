// Runs once around the whole suite. The PostgreSQL for tests starts on first use (support/postgres.ts) and ends here.

export default async function setup(): Promise<() => Promise<void>> {
  return async () => {};
}
