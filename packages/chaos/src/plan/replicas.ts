import type { ServiceName } from '@tocsin/lab/service-process';

/** One replica of a service, which is restarted whenever it ends. */
export interface ReplicaPlan {
  readonly name: string;
  readonly service: ServiceName;
  /** The region of a checker; null for the others. */
  readonly region: string | null;
  /** The loopback address at which this replica alone finds targets and receivers: it tells them who sends a request. */
  readonly address: string;
}

export const REGIONS = ['north', 'south'] as const;

const ALL = [
  ['api-1', 'api', null],
  ['api-2', 'api', null],
  ['checker-north-1', 'checker', 'north'],
  ['checker-north-2', 'checker', 'north'],
  ['checker-south-1', 'checker', 'south'],
  ['notifier-1', 'notifier', null],
  ['notifier-2', 'notifier', null],
] as const;

/** What runs in a campaign. */
export const REPLICAS: readonly ReplicaPlan[] = ALL.map(([name, service, region], index) => ({
  name,
  service,
  region,
  address: `127.0.1.${index + 1}`,
}));

/** The names of the replicas of a service. */
export function replicasOf(service: ServiceName): string[] {
  return REPLICAS.filter((replica) => replica.service === service).map(({ name }) => name);
}
