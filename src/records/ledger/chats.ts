// The ledger's port for commands that come from a chat: how far its messages have been taken.
//
// I1. An update is taken once, by one node, before anything is done about it: a crash then costs one answer, never a second
//     job (law 4).

export interface ChatLedger {
  /** The first update that nobody has taken; undefined = nobody has ever looked. */
  chatOffset(source: string): Promise<number | undefined>;
  /** True = ours to answer, and everything before it is taken, too. False = it was taken before. */
  takeChatUpdate(source: string, updateId: number): Promise<boolean>;
}
