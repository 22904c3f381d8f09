import type { Monitor, MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import type { DashboardSystem } from '../dashboard-system.ts';

/** A monitor with the status that it reaches and its URL in screenshots. */
type MonitorPlan = readonly [
  name: string,
  status: MonitorStatus,
  regions: readonly string[],
  address: string,
  settings?: MonitorUpdate,
];

const EU = ['eu-west'];
const US = ['us-east'];
const BOTH = [...EU, ...US];
/** A region without a checker. */
export const UNSERVED_REGION = 'ap-south';
export const CANARY_REGION = 'eu-west';
export const CANARIES = ['Public website', 'Image proxy'] as const;
export const SERVED_REGIONS = 'default,eu-west,us-east';

const SHOP: MonitorUpdate = {
  runbookUrl: 'https://wiki.example.com/shop-is-down',
  headers: { 'X-Probe': 'tocsin', Authorization: 'Bearer not-a-secret' },
  assertions: { statusCode: 200, bodyContains: 'ok', maxLatency: 2_000 },
  externalId: 'shop',
  source: 'platform',
  labels: { app: 'shop', team: 'checkout', tier: 'web', 'example.com/on-call': 'platform' },
};
const PAYMENTS: MonitorUpdate = {
  failureThreshold: 3,
  retryInterval: 5,
  recoveryThreshold: 2,
  runbookUrl: 'https://wiki.example.com/payments-are-down',
  externalId: 'payments',
  source: 'platform',
  labels: { app: 'payments', team: 'checkout' },
};
const CHECKOUT: MonitorUpdate = { labels: { app: 'shop', team: 'checkout', tier: 'api' } };

/** The monitor of the running maintenance window. */
export const IN_MAINTENANCE = 'Warehouse';
/** The monitor with an open incident and deliveries. */
export const DOWN = 'Payments';
export const UNSERVED = 'Support desk, Mumbai';

/** Every status, several regions, and every field at least once. */
const MONITORS: readonly MonitorPlan[] = [
  ['Shop', 'UP', BOTH, 'https://shop.example.com/health', SHOP],
  [DOWN, 'DOWN', BOTH, 'https://pay.example.com/health', PAYMENTS],
  ['Checkout', 'UP', BOTH, 'https://shop.example.com/checkout/health', CHECKOUT],
  ['Search', 'UP', EU, 'https://search.example.com/ready', { labels: { app: 'search', tier: 'api' } }],
  ['Sign-in', 'UP', BOTH, 'https://id.example.com/.well-known/health'],
  ['Image proxy', 'UP', EU, 'https://img.example.com/status'],
  ['Mail gateway', 'UP', EU, 'https://mail.example.com/health'],
  ['Partner feed, nightly export of prices and stock', 'DOWN', US, 'https://feed.example.net/export'],
  [IN_MAINTENANCE, 'MAINTENANCE', EU, 'https://warehouse.example.com/health'],
  ['Public website', 'UP', BOTH, 'https://www.example.com/'],
  ['Status page', 'UP', US, 'https://status.example.com/'],
  [UNSERVED, 'PENDING', [UNSERVED_REGION], 'https://support.example.in/health'],
];

/** Creates the monitors of a team. @returns them by name */
export async function createMonitors({
  system,
  target,
  broken,
}: DashboardSystem): Promise<ReadonlyMap<string, Monitor>> {
  const monitors = new Map<string, Monitor>();
  for (const [number, [name, status, regions, , settings]] of MONITORS.entries()) {
    // A monitor fails in maintenance, too.
    const url = (status === 'UP' ? target : broken).url(`/${number}`);
    const fields = { name, url, interval: 10, timeout: 4, regions, ...settings };
    monitors.set(name, await system.createMonitor(fields));
  }
  return monitors;
}

/** Checks that every monitor has its planned status. */
export function areSettled(monitors: readonly Pick<Monitor, 'name' | 'status'>[]): boolean {
  const statuses = new Map(monitors.map(({ name, status }) => [name, status]));
  return MONITORS.every(([name, status]) => statuses.get(name) === status);
}

/** Shows presentable URLs in screenshots. Checkers keep the real URLs until the revision of a monitor changes. */
export async function showAddresses({ system }: DashboardSystem): Promise<void> {
  const { pool } = system.database;
  await pool.query(
    `update monitors m set url = shown.url from unnest($1::text[], $2::text[]) as shown (name, url)
     where m.name = shown.name`,
    [MONITORS.map(([name]) => name), MONITORS.map(([, , , address]) => address)],
  );
  await pool.query(
    `update channels set url = 'https://hooks.example.com' || regexp_replace(url, '^https://[^/]*', '')`,
  );
  await pool.query(
    `update monitor_regions set certificate_expires_at = date_trunc('milliseconds', now()) + interval '41 days'`,
  );
}
