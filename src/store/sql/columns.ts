// How values stand in columns.

/** `bool` is 0 or 1, `json` is text. */
export type ColumnKind = "text" | "int" | "bool" | "json";

/** Columns in order, by name. */
export type Columns = Readonly<Record<string, ColumnKind>>;
