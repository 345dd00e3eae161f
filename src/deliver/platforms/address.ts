// Reading an address of a chat platform: `<chat>[:<thread>]`, each by its own shape (O5). Pure.

export type Address = { chat?: string; thread?: string; url?: string };

/** Anything without a space, a colon or a comma. */
export const ANY_ID: RegExp = /^[^\s:,]+$/;

/** Ids may hold `:` themselves: the last colon that leaves two valid halves parts them. */
export function chatAddress(chat: RegExp, thread?: RegExp): (address: string) => Address | undefined {
  return (address) => {
    if (chat.test(address)) return { chat: address };
    for (let colon = address.lastIndexOf(":"); colon > 0; colon = address.lastIndexOf(":", colon - 1)) {
      const parts = { chat: address.slice(0, colon), thread: address.slice(colon + 1) };
      if (thread?.test(parts.thread) && chat.test(parts.chat)) return parts;
    }
    return undefined;
  };
}

/** The same, and an https URL: the address of an incoming webhook. */
export function hookAddress(chat: RegExp, thread?: RegExp): (address: string) => Address | undefined {
  const parse = chatAddress(chat, thread);
  return (address) =>
    URL.canParse(address) && /^https:\/\//i.test(address) ? { url: address } : parse(address);
}
