// Whose turn it is to use a SQLite session: one call at a time, in order of arrival; transactions that meet share a commit.
//
// I1. A call outside of transactions never sees what is not committed: it waits until the open one is.
// I2. A transaction that waits when another one is ready to commit joins it. One fsync makes all of them durable, and
//     none of them resolves before it.
// I3. When one of those that share a commit fails, or the commit does, all is undone, and each is run again by itself: a
//     failure is nobody else's.

/** The three statements that frame a transaction. */
export interface TransactionFrame {
  begin(): Promise<unknown>;
  commit(): Promise<unknown>;
  rollback(): Promise<unknown>;
}

export interface Turns {
  /** A call outside of transactions. */
  alone<Result>(work: () => Promise<Result>): Promise<Result>;
  /**
   * A transaction. `work` may run again (I3). `invite` is called between its work and its commit: a transaction that it
   * sets off within this turn of the event loop joins.
   */
  together<Result>(work: () => Promise<Result>, invite?: () => void): Promise<Result>;
}

/** A pass, starts, ends and the outbox: more would keep other processes waiting (L11). */
const MOST_TOGETHER = 4;

interface Turn {
  run(): Promise<void>;
  /** For transactions: to be called when their fate is known. */
  resolve(): void;
  reject(error: unknown): void;
  isTransaction: boolean;
  invite: (() => void) | undefined;
}

/** The calls of one session. */
interface Line {
  frame: TransactionFrame;
  waiting: Turn[];
  isServing: boolean;
}

export function makeTurns(frame: TransactionFrame): Turns {
  const line: Line = { frame, waiting: [], isServing: false };
  return {
    alone: (work) => wait(line, work, { isTransaction: false, invite: undefined }),
    together: (work, invite) => wait(line, work, { isTransaction: true, invite }),
  };
}

function wait<Result>(
  line: Line,
  work: () => Promise<Result>,
  kind: Pick<Turn, "isTransaction" | "invite">,
): Promise<Result> {
  return new Promise<Result>((resolve, reject) => {
    let settle = () => {};
    const run = async () => {
      const result = await work();
      settle = () => resolve(result);
    };
    line.waiting.push({ ...kind, run, reject, resolve: () => settle() });
    if (!line.isServing) void serve(line);
  });
}

async function serve(line: Line): Promise<void> {
  line.isServing = true;
  for (let turn = line.waiting.shift(); turn; turn = line.waiting.shift()) {
    if (turn.isTransaction) await commitFrom(line, turn);
    else await turn.run().then(turn.resolve, turn.reject);
  }
  line.isServing = false;
}

/** Never rejects: whose turn it was is told. */
async function commitFrom(line: Line, first: Turn): Promise<void> {
  const { frame } = line;
  const joined: Turn[] = [];
  try {
    await frame.begin();
    for (let turn: Turn | undefined = first; turn; turn = await nextToJoin(line, turn, joined.length)) {
      joined.push(turn);
      await turn.run();
    }
    await frame.commit();
    for (const turn of joined) turn.resolve();
  } catch (error) {
    // After a full disk SQLite may have rolled back by itself; then there is nothing left to undo.
    await frame.rollback().catch(() => {});
    if (joined.length <= 1) first.reject(error);
    else for (const turn of joined) await commitAlone(frame, turn);
  }
}

async function nextToJoin({ waiting }: Line, { invite }: Turn, count: number): Promise<Turn | undefined> {
  if (count >= MOST_TOGETHER) return undefined;
  if (invite) {
    invite();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const index = waiting.findIndex(({ isTransaction }) => isTransaction);
  return index < 0 ? undefined : waiting.splice(index, 1)[0];
}

async function commitAlone(frame: TransactionFrame, turn: Turn): Promise<void> {
  try {
    await frame.begin();
    await turn.run();
    await frame.commit();
    turn.resolve();
  } catch (error) {
    await frame.rollback().catch(() => {});
    turn.reject(error);
  }
}
