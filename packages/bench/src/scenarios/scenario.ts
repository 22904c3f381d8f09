import type { Teardown } from '@tocsin/embedded/program/teardown';
import { number, oneOf, text, type ValuesOf } from '@tocsin/lab/options';
import { SERVICE_NAMES, type ServiceName } from '@tocsin/lab/service-process';
import type { Bar, Figure } from '../report/figure.ts';

const LEAST = { min: 1 } as const;

/** The options of a run; null: the scenario's own value. */
export const OPTIONS = {
  rate: number('checks a second that the schedules ask for', null, LEAST),
  interval: number('seconds between two checks of a monitor', null, LEAST),
  monitors: number('number of monitors; by default rate × interval', null, LEAST),
  checkers: number('checker processes', null, LEAST),
  protocol: oneOf('of the targets', ['http', 'https']),
  queue: oneOf("the queue's store", ['redis', 'postgres']),
  seconds: number('length of the measured window', null, LEAST),
  events: number('events in the table of "history"', null, LEAST),
  profile: oneOf(
    'CPU profile of a service; without a value of the checker. Bars are not shown',
    SERVICE_NAMES,
  ),
  json: text('writes machine, settings and figures', 'FILE'),
};
export type Options = ValuesOf<typeof OPTIONS>;

/** What a scenario runs with. */
export interface Bench {
  readonly options: Options;
  readonly profile: ServiceName | null;
  readonly teardown: Teardown;
  /** Reports progress. */
  readonly say: (line: string) => void;
}

/** The result of a scenario. */
export interface Measurement {
  /** For the report. */
  readonly settings: Readonly<Record<string, string | number>>;
  readonly figures: readonly Figure[];
  /** Text below the table, such as the top of a profile. */
  readonly notes?: readonly string[];
}

export interface Scenario {
  readonly name: string;
  /** One line for the help. */
  readonly about: string;
  /** By the key of the figure; they hold for a run without options. */
  readonly bars: Readonly<Record<string, Bar>>;
  readonly run: (bench: Bench) => Promise<Measurement>;
}
