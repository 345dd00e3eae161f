// A view: the text in one normal form, with the way back. Rules read views; positions are always told in the original.
//
// I1. `offsets[i]` is where character i of the view begins in the original; absent = the same place.

/** A text to match against, and where each of its UTF-16 units comes from. */
export interface View {
  text: string;
  /** Absent when the view has the original's length and order. */
  offsets?: Int32Array;
}

/** Where a place in the view lies in the original. A place behind the end is the end of the last character's origin. */
export function originOf(view: View, place: number): number {
  if (!view.offsets) return place;
  return view.offsets[Math.min(place, view.offsets.length - 1)] ?? 0;
}

/** Builds a view unit by unit, each with its origin in the original. */
export class ViewBuilder {
  #units: Uint16Array;
  #offsets: Int32Array;
  #length = 0;

  /** `size` = a guess of the view's length in UTF-16 units; it grows by itself. */
  constructor(size: number) {
    this.#units = new Uint16Array(size + 16);
    this.#offsets = new Int32Array(size + 16);
  }

  /** Adds one UTF-16 unit. */
  addUnit(unit: number, origin: number): void {
    if (this.#length === this.#offsets.length) this.#reserve(1);
    this.#units[this.#length] = unit;
    this.#offsets[this.#length] = origin;
    this.#length += 1;
  }

  /** Adds text whose every character comes from `origin`. */
  add(text: string, origin: number): void {
    for (let place = 0; place < text.length; place++) this.addUnit(text.charCodeAt(place), origin);
  }

  /** Adds a stretch of another view as it is. */
  copy({ text, offsets }: View, from: number, to: number): void {
    if (to <= from) return;
    this.#reserve(to - from);
    const [units, origins, shift] = [this.#units, this.#offsets, this.#length - from];
    for (let place = from; place < to; place++) units[place + shift] = text.charCodeAt(place);
    if (offsets) origins.set(offsets.subarray(from, to), this.#length);
    else for (let place = from; place < to; place++) origins[place + shift] = place;
    this.#length += to - from;
  }

  build(): View {
    return { text: textOf(this.#units, this.#length), offsets: this.#offsets.subarray(0, this.#length) };
  }

  #reserve(count: number): void {
    const size = this.#length + count;
    if (size <= this.#offsets.length) return;
    const units = new Uint16Array(size * 2);
    units.set(this.#units);
    this.#units = units;
    const offsets = new Int32Array(size * 2);
    offsets.set(this.#offsets);
    this.#offsets = offsets;
  }
}

/** The text of UTF-16 units (every machine that Node runs on keeps the low byte first). One of Latin-1 units alone is kept in half the room. */
export function textOf(units: Uint16Array, length: number): string {
  for (let place = 0; place < length; place++) if ((units[place] ?? 0) > 0xff) return wideText(units, length);
  return Buffer.from(units.subarray(0, length)).toString("latin1");
}

function wideText(units: Uint16Array, length: number): string {
  return Buffer.from(units.buffer, 0, length * 2).toString("utf16le");
}

/** The view with every match of `pattern` (global) replaced; undefined when nothing matches or nothing changes. */
export function replaceInView(
  view: View,
  pattern: RegExp,
  replacement: (match: RegExpExecArray) => string,
): View | undefined {
  const { text } = view;
  let builder: ViewBuilder | undefined;
  let done = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const put = replacement(match);
    if (put === match[0]) continue;
    builder ??= new ViewBuilder(text.length);
    builder.copy(view, done, match.index);
    builder.add(put, originOf(view, match.index));
    done = match.index + match[0].length;
  }
  builder?.copy(view, done, text.length);
  return builder?.build();
}
