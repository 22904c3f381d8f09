/** The limits of a figure. */
export interface Bar {
  readonly atMost?: number;
  readonly atLeast?: number;
}

type Unit = 'ms' | 's' | 'min' | 'µs' | '/s' | 'MB' | 'B' | '×' | '%' | '';

/** One measured value. */
export interface Figure {
  /** Identifies the figure in the JSON. */
  readonly key: string;
  readonly label: string;
  /** NaN if it could not be measured. */
  readonly value: number;
  readonly unit: Unit;
  readonly bar?: Bar;
}

export function figure(key: string, label: string, value: number, unit: Unit, bar?: Bar): Figure {
  return { key, label, value, unit, ...(bar && { bar }) };
}

/** Returns a bar, or undefined without a limit. */
export function atMost(limit: number | undefined): Bar | undefined {
  return limit === undefined ? undefined : { atMost: limit };
}
