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

/** Builds a view piece by piece, each with its origin in the original. */
export class ViewBuilder {
  #parts: string[] = [];
  #offsets: Int32Array;
  #length = 0;

  /** `size` = a guess of the view's length in UTF-16 units; it grows by itself. */
  constructor(size: number) {
    this.#offsets = new Int32Array(size + 16);
  }

  /** Adds text whose every character comes from `origin`. */
  add(text: string, origin: number): void {
    this.#reserve(text.length);
    this.#offsets.fill(origin, this.#length, this.#length + text.length);
    this.#length += text.length;
    this.#parts.push(text);
  }

  /** Adds a stretch of another view as it is. */
  copy(view: View, from: number, to: number): void {
    if (to <= from) return;
    this.#reserve(to - from);
    if (view.offsets) this.#offsets.set(view.offsets.subarray(from, to), this.#length);
    else for (let place = from; place < to; place++) this.#offsets[this.#length + place - from] = place;
    this.#length += to - from;
    this.#parts.push(view.text.slice(from, to));
  }

  build(): View {
    return { text: this.#parts.join(""), offsets: this.#offsets.slice(0, this.#length) };
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#offsets.length) return;
    const larger = new Int32Array((this.#length + count) * 2);
    larger.set(this.#offsets);
    this.#offsets = larger;
  }
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
