import { Registry, collectDefaultMetrics } from 'prom-client';

export type Metrics = Registry;

/** A registry of its own with the metrics of the process (memory, event loop, garbage collection). */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
