/** The target that a figure must reach. */
export interface Bar {
  readonly atMost?: number;
  readonly atLeast?: number;
}

type Unit = 'ms' | 's' | 'min' | 'µs' | '/s' | 'MB' | 'B' | '×' | '%' | '';

/** One measured value. */
export interface Figure {
  /** Stable name, for the JSON and to find its bar. */
  readonly key: string;
  readonly label: string;
  /** NaN: it could not be measured. */
  readonly value: number;
  readonly unit: Unit;
  readonly bar?: Bar;
}

export function figure(key: string, label: string, value: number, unit: Unit): Figure {
  return { key, label, value, unit };
}
