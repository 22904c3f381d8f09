import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { Client } from 'pg';
import type { DashboardSystem } from '../dashboard-system.ts';

/** A monitor of a filled system. */
interface MonitorPlan {
  readonly name: string;
  readonly target: 'up' | 'down';
  readonly regions: readonly string[];
  /** The URL in screenshots. */
  readonly address: string;
  readonly settings?: Partial<
    Pick<Monitor, 'runbookUrl' | 'headers' | 'assertions' | 'externalId' | 'source'>
  >;
}

const EU = ['eu-west'];
const BOTH = ['eu-west', 'us-east'];
/** A region without a checker. */
export const UNSERVED_REGION = 'ap-south';
export const SERVED_REGIONS = 'default,eu-west,us-east';

/** Every status, several regions, and every field at least once. */
export const MONITORS: readonly MonitorPlan[] = [
  {
    name: 'Shop',
    target: 'up',
    regions: BOTH,
    address: 'https://shop.example.com/health',
    settings: {
      runbookUrl: 'https://wiki.example.com/shop-is-down',
      headers: { 'X-Probe': 'tocsin', Authorization: 'Bearer not-a-secret' },
      assertions: { statusCode: 200, bodyContains: 'ok', maxLatency: 2_000 },
      externalId: 'shop',
      source: 'platform',
    },
  },
  {
    name: 'Payments',
    target: 'down',
    regions: BOTH,
    address: 'https://pay.example.com/health',
    settings: {
      runbookUrl: 'https://wiki.example.com/payments-are-down',
      externalId: 'payments',
      source: 'platform',
    },
  },
  { name: 'Checkout', target: 'up', regions: BOTH, address: 'https://shop.example.com/checkout/health' },
  { name: 'Search', target: 'up', regions: EU, address: 'https://search.example.com/ready' },
  { name: 'Sign-in', target: 'up', regions: BOTH, address: 'https://id.example.com/.well-known/health' },
  { name: 'Image proxy', target: 'up', regions: EU, address: 'https://img.example.com/status' },
  { name: 'Mail gateway', target: 'up', regions: EU, address: 'https://mail.example.com/health' },
  {
    name: 'Partner feed, nightly export of prices and stock',
    target: 'down',
    regions: ['us-east'],
    address: 'https://feed.example.net/export',
  },
  { name: 'Warehouse', target: 'up', regions: EU, address: 'https://warehouse.example.com/health' },
  { name: 'Public website', target: 'up', regions: BOTH, address: 'https://www.example.com/' },
  { name: 'Status page', target: 'up', regions: ['us-east'], address: 'https://status.example.com/' },
  {
    name: 'Support desk, Mumbai',
    target: 'up',
    regions: [UNSERVED_REGION],
    address: 'https://support.example.in/health',
  },
];
/** The monitor of the active maintenance window. */
export const IN_MAINTENANCE = 'Warehouse';
/** The monitor with an open incident and deliveries. */
export const DOWN = 'Payments';

/** Creates `MONITORS`. @returns them by name */
export async function createMonitors({
  system,
  target,
  broken,
}: DashboardSystem): Promise<ReadonlyMap<string, Monitor>> {
  const monitors = new Map<string, Monitor>();
  for (const [number, { name, target: wanted, regions, settings }] of MONITORS.entries()) {
    const url = (wanted === 'up' ? target : broken).url(`/${number}`);
    const fields = { name, url, interval: 10, timeout: 4, regions, ...settings };
    monitors.set(name, await system.createMonitor(fields));
  }
  return monitors;
}

/** Shows presentable URLs in screenshots. Checkers keep the real ones: they read a monitor again only when its revision changes. */
export async function showAddresses({ system }: DashboardSystem): Promise<void> {
  const client = new Client({ connectionString: system.databaseUrl });
  await client.connect();
  try {
    await client.query(
      `update monitors m set url = shown.url from unnest($1::text[], $2::text[]) as shown (name, url)
       where m.name = shown.name`,
      [MONITORS.map(({ name }) => name), MONITORS.map(({ address }) => address)],
    );
    await client.query(
      `update channels set url = 'https://hooks.example.com' || regexp_replace(url, '^https://[^/]*', '')`,
    );
    await client.query(
      `update monitor_regions set certificate_expires_at = date_trunc('milliseconds', now()) + interval '41 days'`,
    );
  } finally {
    await client.end();
  }
}
