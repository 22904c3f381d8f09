import type { Metrics } from '@tocsin/runtime/metrics';
import { Counter, Gauge } from 'prom-client';

export interface OperatorState {
  readonly isLeader: boolean;
  readonly pending: number;
  readonly monitors: number;
  readonly channels: number;
}

/** Registers the gauges of an operator, which read its state at each scrape. */
export function registerOperatorState(registry: Metrics, state: () => OperatorState): void {
  const gauges: readonly [name: string, help: string, read: (state: OperatorState) => number][] = [
    ['leading', '1 while this process leads, otherwise 0.', ({ isLeader }) => (isLeader ? 1 : 0)],
    [
      'namespaces_pending',
      'Namespaces that wait for a sync. Few, unless Tocsin is unavailable.',
      ({ pending }) => pending,
    ],
    ['monitor_resources', 'Resources of the kind Monitor.', ({ monitors }) => monitors],
    ['channel_resources', 'Resources of the kind Channel.', ({ channels }) => channels],
  ];
  for (const [name, help, read] of gauges) {
    registry.registerMetric(
      new Gauge({
        name: `tocsin_operator_${name}`,
        help,
        registers: [],
        collect() {
          this.set(read(state()));
        },
      }),
    );
  }
}

/** Returns a function that counts requests with a set. */
export function createSetCounter(registry: Metrics): (kind: 'plan' | 'write') => void {
  const sets = new Counter({
    name: 'tocsin_operator_set_requests_total',
    help: 'Requests with the set of a namespace. A plan changes nothing.',
    labelNames: ['kind'],
    registers: [registry],
  });
  return (kind) => sets.inc({ kind });
}
