// Shorthands that a document may use and that the codec writes out. Plain types: the public API's declarations need no
// validator. job-schema.ts accepts exactly these.

interface AddressInput {
  platform: string;
  chat?: string | number | undefined;
  thread?: string | number | undefined;
  url?: string | undefined;
}

type TargetInput = string | AddressInput;

/** One target or a list of them. */
export type TargetsInput = TargetInput | TargetInput[];

/** A number is `max`; one cause may stand for a list of one. */
export type RetryInput =
  | number
  | {
      max?: number | undefined;
      delay?: string | undefined;
      backoff?: number | undefined;
      maxDelay?: string | undefined;
      on?: string | string[] | undefined;
      notOn?: string | string[] | undefined;
    };
