// What an executor may be called.

/** Letters, digits, `_`, `-` and `.`; a name is part of paths of the API. */
export const EXECUTOR_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
export const NOT_A_NAME =
  "is no name of an executor; use letters, digits, _, - and ., beginning with a letter or digit, at most 64";
