import type { ServiceName } from '../service-process.ts';

export interface ReplicaPlan {
  readonly name: string;
  readonly service: ServiceName;
  /** Region of a checker, or null. */
  readonly region: string | null;
  /** The loopback address at which this replica finds targets and receivers. It identifies the replica. */
  readonly address: string;
}

export const REGIONS = ['north', 'south'] as const;

export const REPLICAS: readonly ReplicaPlan[] = [
  { name: 'api-1', service: 'api', region: null, address: '127.0.1.1' },
  { name: 'api-2', service: 'api', region: null, address: '127.0.1.2' },
  { name: 'checker-north-1', service: 'checker', region: 'north', address: '127.0.1.3' },
  { name: 'checker-north-2', service: 'checker', region: 'north', address: '127.0.1.4' },
  { name: 'checker-south-1', service: 'checker', region: 'south', address: '127.0.1.5' },
  { name: 'notifier-1', service: 'notifier', region: null, address: '127.0.1.6' },
  { name: 'notifier-2', service: 'notifier', region: null, address: '127.0.1.7' },
];
