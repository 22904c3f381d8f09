import type { ServiceName } from '@tocsin/lab/service-process';

/** One replica of a service, started again whenever it ends. */
export interface SlotPlan {
  readonly name: string;
  readonly service: ServiceName;
  /** The regions of a checker; null for the others. */
  readonly region: string | null;
  /** Where this replica, and nobody else, finds the targets and receivers: so they know who asks. */
  readonly address: string;
}

export const REGIONS = ['north', 'south'] as const;
export type Region = (typeof REGIONS)[number];

const REPLICAS = [
  ['api-1', 'api', null],
  ['api-2', 'api', null],
  ['checker-north-1', 'checker', 'north'],
  ['checker-north-2', 'checker', 'north'],
  ['checker-south-1', 'checker', 'south'],
  ['notifier-1', 'notifier', null],
  ['notifier-2', 'notifier', null],
] as const satisfies readonly (readonly [string, ServiceName, Region | null])[];

/** What runs in a campaign. */
export const SLOTS: readonly SlotPlan[] = REPLICAS.map(([name, service, region], index) => ({
  name,
  service,
  region,
  address: `127.0.1.${index + 1}`,
}));

/** The replicas of a service. */
export function slotsOf(service: ServiceName): readonly SlotPlan[] {
  return SLOTS.filter((slot) => slot.service === service);
}
