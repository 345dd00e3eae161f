// One field of a cron expression: values, names, lists, ranges, steps. Terms about days (`L`, `W`, `#`) are cron.ts's.

export interface FieldShape {
  name: string;
  min: number;
  max: number;
  /** Lower-case names and what they mean. */
  names: Readonly<Record<string, number>>;
}

function numbered(words: string, first: number): Record<string, number> {
  return Object.fromEntries(words.split(" ").map((word, index) => [word, index + first]));
}

const MONTH_NAMES = {
  ...numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1),
  ...numbered("january february march april may june july august september october november december", 1),
};
const WEEKDAY_NAMES = {
  ...numbered("sun mon tue wed thu fri sat", 0),
  ...numbered("sunday monday tuesday wednesday thursday friday saturday", 0),
};

export const FIELDS = {
  second: { name: "second", min: 0, max: 59, names: {} },
  minute: { name: "minute", min: 0, max: 59, names: {} },
  hour: { name: "hour", min: 0, max: 23, names: {} },
  dayOfMonth: { name: "day of month", min: 1, max: 31, names: {} },
  month: { name: "month", min: 1, max: 12, names: MONTH_NAMES },
  dayOfWeek: { name: "day of week", min: 0, max: 7, names: WEEKDAY_NAMES },
} as const satisfies Record<string, FieldShape>;

/** Why a token of a field cannot be; a value, because only the whole expression can be refused with its text. */
export interface FieldProblem {
  token: string;
  why: string;
  known?: readonly string[];
  hint?: string;
}

/** The values of one comma-free term (`5`, `mon-fri`, `0-30/10`, `*`), ascending; or why it is none. */
export function parseTerm(term: string, shape: FieldShape): number[] | FieldProblem {
  const [body = "", step, ...rest] = term.split("/");
  const problem = (why: string, extra?: Partial<FieldProblem>): FieldProblem => ({
    token: term,
    why,
    ...extra,
  });
  if (rest.length > 0) return problem(`"${term}" has two steps`);
  const range = parseRange(body, shape, step !== undefined);
  if (!Array.isArray(range)) return range;
  const [first, last] = range;
  const every = step === undefined ? 1 : parseStep(step, shape);
  if (typeof every !== "number") return every;
  const values: number[] = [];
  for (let value = first; value <= last; value += every) values.push(value);
  return values;
}

function parseStep(step: string, shape: FieldShape): number | FieldProblem {
  const span = shape.max - shape.min + 1;
  const value = /^\d+$/.test(step) ? Number(step) : 0;
  if (value === 0)
    return { token: step, why: `the step "${step}" of the ${shape.name} is not a number above 0` };
  if (value >= span)
    return {
      token: step,
      why: `a step of ${value} is longer than the ${shape.name} field (${span} values)`,
      hint: "For a steady interval write `every 90m` instead.",
    };
  return value;
}

function parseRange(body: string, shape: FieldShape, hasStep: boolean): [number, number] | FieldProblem {
  // Sunday's second number serves ranges such as 5-7 only; a star must not name it twice.
  const lastOfStar = shape.max === 7 ? 6 : shape.max;
  if (body === "*") return [shape.min, lastOfStar];
  const ends = body.split("-");
  if (ends.length > 2 || ends.includes("")) return notAValue(body, shape);
  const [firstText = "", lastText] = ends;
  const first = parseValue(firstText, shape);
  if (typeof first !== "number") return first;
  if (lastText === undefined) return [first, hasStep ? lastOfStar : first];
  let last = parseValue(lastText, shape);
  if (typeof last !== "number") return last;
  if (shape.max === 7 && last === 0 && first > 0) last = 7;
  if (last < first) {
    const wrapped = `${firstText}-${lastOfStar},${shape.min}-${lastText}`;
    return {
      token: body,
      why: `the range "${body}" runs backwards`,
      hint: `Write \`${wrapped}\` to go round.`,
    };
  }
  return [first, last];
}

function parseValue(text: string, shape: FieldShape): number | FieldProblem {
  const named = shape.names[text.toLowerCase()];
  if (named !== undefined) return named;
  if (!/^\d{1,4}$/.test(text)) return notAValue(text, shape);
  const value = Number(text);
  if (value < shape.min || value > shape.max)
    return { token: text, why: `${shape.name} ${value} is not in ${shape.min}–${shape.max}` };
  return value;
}

function notAValue(text: string, shape: FieldShape): FieldProblem {
  return { token: text, why: `"${text}" is not a ${shape.name}`, known: Object.keys(shape.names) };
}
