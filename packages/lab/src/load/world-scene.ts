import type { ApiClient } from '../api-client.ts';
import type { Queries } from '../stores.ts';
import type { Receivers } from '../world/receivers.ts';
import type { Targets } from '../world/targets.ts';
import type { Registry } from './registry.ts';
import type { MonitorPlan } from './world-plan.ts';

/** A system that the API writes to, with the record of what was written. */
export interface WorldScene {
  readonly api: ApiClient;
  readonly registry: Registry;
  readonly receivers: Pick<Receivers, 'url'>;
  readonly targets: Pick<Targets, 'url'>;
  readonly stores: Queries;
  /** Returns the host in the URL of a monitor. Defaults to the name or the address of the targets. */
  readonly hostOf?: (plan: MonitorPlan) => string;
}
