import type { ProbeResult } from '@tocsin/probe/probe';
import type { Metrics } from '@tocsin/runtime/metrics';
import { Counter, Gauge } from 'prom-client';
import type { Agent } from './agent.ts';

/** Registers the gauges of an agent, which read its state at each scrape. */
export function registerAgentState(registry: Metrics, state: () => Agent['state']): void {
  const gauges: readonly [name: string, help: string, read: (state: Agent['state']) => number][] = [
    [
      'connected',
      '1 while the agent is connected to a gateway, otherwise 0.',
      ({ link }) => (link === null ? 0 : 1),
    ],
    [
      'gateway_round_trip_seconds',
      'Usual round trip to the gateway. 0 without a connection.',
      ({ link }) => (Number.isFinite(link?.roundTripMs) ? (link?.roundTripMs ?? 0) / 1_000 : 0),
    ],
    ['credits', 'Maximum concurrent probes. Lower while the agent lacks CPU time.', ({ credits }) => credits],
    ['probes_running', 'Running probes.', ({ running }) => running],
    ['results_kept', 'Results that no gateway has confirmed yet.', ({ kept }) => kept],
  ];
  for (const [name, help, read] of gauges) {
    registry.registerMetric(
      new Gauge({
        name: `tocsin_agent_${name}`,
        help,
        registers: [],
        collect() {
          this.set(read(state()));
        },
      }),
    );
  }
}

/** Returns a function that counts the results of probes. */
export function createResultCounter(registry: Metrics): (result: ProbeResult) => void {
  const results = new Counter({
    name: 'tocsin_agent_results_total',
    help: 'Results of probes by status. INCONCLUSIVE results do not count, because the agent or its network failed.',
    labelNames: ['status'],
    registers: [registry],
  });
  return ({ status, ownFailure }) => results.inc({ status: ownFailure === null ? status : 'INCONCLUSIVE' });
}
