// Mass mentions: words that ring everybody's telephone. Pure.
//
// I1. A message that an agent or a script wrote rings nobody unless the configuration allows it: what it quotes may come
//     from anyone.

/** Not seen, and no platform reads a name over it. */
const BREAK = "\u200b";

/** An e-mail address is no mention: a name before the sign leaves it alone. */
const MASS = /(?<![\w.+-])@(?=(?:everyone|here|channel|all|room)(?![\w-]))/gi;

/** The same text with every mass mention broken by a character nobody sees. */
export function breakMentions(text: string): string {
  return text.includes("@") ? text.replace(MASS, `@${BREAK}`) : text;
}

/** For dialects in which a mention stands in angle brackets that they do not escape (`<users/all>`, `<@all>`). */
export function breakBrackets(text: string): string {
  return text.replace(/<(?=[@!#]|users\/|at\b)/gi, `<${BREAK}`);
}
