import type { Bar } from '../report/figure.ts';
import { runLoad, type LoadDefaults } from './load.ts';
import type { Scenario } from './scenario.ts';

const LAG: Readonly<Record<string, Bar>> = { missed: { atMost: 0 }, 'lag-p99': { atMost: 1_000 } };

function load(name: string, defaults: LoadDefaults, bars: Scenario['bars']): Scenario {
  const { rate, protocol, queue } = defaults;
  const store = queue === 'postgres' ? ', queue on Postgres' : '';
  return {
    name,
    about: `${rate.toLocaleString('en-US')} ${protocol} checks a second${store}`,
    bars: { done: { atLeast: rate * 0.99 }, ...LAG, ...bars },
    run: (bench) => runLoad(bench, defaults),
  };
}

/** Every scenario, in the order of `all`. */
export const SCENARIOS: readonly Scenario[] = [
  load(
    'http-1000',
    { rate: 1_000, protocol: 'http', queue: 'redis' },
    {
      'lag-p99': { atMost: 150 },
      cpu: { atMost: 550 },
      'checker-to-floor': { atMost: 2.5 },
      'webhook-p99': { atMost: 500 },
      'webhook-missing': { atMost: 0 },
    },
  ),
  load('http-3000', { rate: 3_000, protocol: 'http', queue: 'redis' }, {}),
  load(
    'https-500',
    { rate: 500, protocol: 'https', queue: 'redis' },
    { 'checker-to-floor': { atMost: 1.1 } },
  ),
  load('https-1000', { rate: 1_000, protocol: 'https', queue: 'redis' }, {}),
  load('postgres-200', { rate: 200, protocol: 'http', queue: 'postgres' }, {}),
];
