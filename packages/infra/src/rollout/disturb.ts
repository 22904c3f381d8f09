import type { DeployedSystem } from './deployed-system.ts';
import { readFindings, type Findings } from './findings.ts';
import type { Load } from './load.ts';

/**
 * Disturbs a system under load, with monitors that go up and down, and compares what its targets, Postgres and the receiver saw.
 * Resolves when every monitor is UP again and every webhook is delivered.
 */
export async function disturbUnderLoad(
  system: DeployedSystem,
  load: Load,
  disturb: () => Promise<void>,
): Promise<Findings> {
  await load.flap();
  const from = Date.now();
  await load.checkOnce();
  await disturb();
  await load.checkOnce();
  // Slots of the last interval may still be under way.
  const to = Date.now() - load.options.interval * 1_000;
  await load.settle();
  return readFindings(system, load, { from, to });
}
