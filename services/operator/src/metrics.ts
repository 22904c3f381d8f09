import type { Metrics } from '@tocsin/runtime/metrics';
import { Counter, Gauge } from 'prom-client';

const GAUGES = {
  leading: '1 while this process leads, otherwise 0.',
  namespaces_pending: 'Namespaces that wait for a sync. Few, unless Tocsin is unavailable.',
  monitor_resources: 'Resources of the kind Monitor.',
  channel_resources: 'Resources of the kind Channel.',
};

/** Registers the gauges of an operator, which read its state at each scrape. */
export function registerOperatorState(
  registry: Metrics,
  state: () => Readonly<Record<keyof typeof GAUGES, number>>,
): void {
  for (const [name, help] of Object.entries(GAUGES)) {
    registry.registerMetric(
      new Gauge({
        name: `tocsin_operator_${name}`,
        help,
        registers: [],
        collect() {
          this.set(state()[name as keyof typeof GAUGES]);
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
