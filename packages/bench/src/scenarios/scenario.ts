import type { ServiceName } from '@tocsin/lab/service-process';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import type { Options } from '../options.ts';
import type { Bar, Figure } from '../report/figure.ts';

/** What a scenario is given to run with. */
export interface Bench {
  readonly options: Options;
  readonly profile: ServiceName | null;
  readonly teardown: Teardown;
  /** Tells what happens, while it happens. */
  readonly say: (line: string) => void;
}

/** What a scenario has measured. */
export interface Measurement {
  /** What it ran with, for the report. */
  readonly settings: Readonly<Record<string, string | number>>;
  readonly figures: readonly Figure[];
  /** Text below the table, as the top of a profile. */
  readonly notes?: readonly string[];
}

export interface Scenario {
  readonly name: string;
  /** One line for the help. */
  readonly about: string;
  /** By the key of the figure; they hold for a run with no option of its own. */
  readonly bars: Readonly<Record<string, Bar>>;
  readonly run: (bench: Bench) => Promise<Measurement>;
}
