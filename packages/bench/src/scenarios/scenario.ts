import type { Teardown } from '@tocsin/embedded/program/teardown';
import { number, oneOf, text, type ValuesOf } from '@tocsin/lab/options';
import { SERVICE_NAMES } from '@tocsin/lab/service-process';
import type { Figure } from '../report/figure.ts';

const PROGRAMS = [...SERVICE_NAMES, 'agent'] as const;
const POSITIVE = { min: 1 } as const;

/** Options that change the load. With one of them, bars do not apply. */
const LOAD_OPTIONS = {
  rate: number('planned checks per second', null, POSITIVE),
  interval: number('seconds between two checks of a monitor', null, POSITIVE),
  monitors: number('number of monitors; by default rate × interval', null, POSITIVE),
  checkers: number('checker processes', null, POSITIVE),
  protocol: oneOf('protocol of the targets', ['http', 'https']),
  queue: oneOf("the queue's store", ['redis', 'postgres']),
  delay: number('round trip to the agent of "agents" in ms', null, { min: 0 }),
  stalls: number('% of its chunks that arrive another second late', null, {
    min: 0,
    max: 100,
    fraction: true,
  }),
};
export const OPTIONS = {
  ...LOAD_OPTIONS,
  seconds: number('length of the measured window', null, POSITIVE),
  events: number('events in the table of "history"', null, POSITIVE),
  profile: oneOf('writes CPU profiles of a service for Chrome DevTools. No bars are shown', PROGRAMS),
  json: text('writes machine, settings and figures to a file', 'FILE'),
};
export type Options = ValuesOf<typeof OPTIONS>;

/** Returns whether the bars of a scenario apply to a run with these options. */
export function hasBars(options: Options): boolean {
  return ['profile', ...Object.keys(LOAD_OPTIONS)].every((name) => options[name as 'rate'] === null);
}

/** The environment of a scenario. */
export interface Bench {
  /** The options on the command line. */
  readonly options: { readonly [Name in keyof Options]?: NonNullable<Options[Name]> };
  readonly teardown: Teardown;
  /** Reports progress. */
  readonly say: (line: string) => void;
}

/** The result of a scenario. */
export interface Measurement {
  readonly settings: Readonly<Record<string, string | number>>;
  readonly figures: readonly Figure[];
  /** Lines below the table. */
  readonly notes?: readonly string[];
}

export interface Scenario {
  readonly name: string;
  /** One line for the help. */
  readonly about: string;
  /** Takes too long for `all`. */
  readonly isLong?: true;
  readonly run: (bench: Bench) => Promise<Measurement>;
}
