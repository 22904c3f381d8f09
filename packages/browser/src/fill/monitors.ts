import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { Client } from 'pg';
import type { DashboardSystem } from '../dashboard-system.ts';

/** What a monitor of a filled system is to be. */
interface MonitorPlan {
  readonly name: string;
  readonly target: 'up' | 'down';
  readonly regions: readonly string[];
  /** The address that people see where addresses are made presentable. */
  readonly address: string;
  readonly settings?: Partial<
    Pick<Monitor, 'runbookUrl' | 'headers' | 'assertions' | 'externalId' | 'source'>
  >;
}

const EU = ['eu-west'];
const BOTH = ['eu-west', 'us-east'];
/** Nobody checks from here. */
export const UNSERVED_REGION = 'ap-south';
export const SERVED_REGIONS = 'default,eu-west,us-east';

/** Each status, several regions, every field somewhere. */
export const MONITOR_PLANS: readonly MonitorPlan[] = [
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
/** That of the maintenance window that runs. */
export const IN_MAINTENANCE = 'Warehouse';
/** The one that has a page, an open incident and a delivery to look at. */
export const DOWN = 'Payments';

/** @returns the monitors by name; nothing checks them yet, unless a checker runs */
export async function createMonitors(dashboard: DashboardSystem): Promise<ReadonlyMap<string, Monitor>> {
  const { system, target, broken } = dashboard;
  const monitors = new Map<string, Monitor>();
  for (const [number, { name, target: wanted, regions, settings }] of MONITOR_PLANS.entries()) {
    const server = wanted === 'up' ? target : broken;
    const monitor = await system.createMonitor({
      name,
      url: server.url(`/${number}`),
      interval: 10,
      timeout: 4,
      regions,
      ...settings,
    });
    monitors.set(name, monitor);
  }
  return monitors;
}

/**
 * Puts addresses that people would have in the place of those on this machine, for pictures. What is checked stays the same:
 * checkers know a monitor by its revision, which this leaves as it is.
 */
export async function showAddresses({ system }: DashboardSystem): Promise<void> {
  const client = new Client({ connectionString: system.databaseUrl });
  await client.connect();
  try {
    await client.query(
      `update monitors m set url = shown.url from unnest($1::text[], $2::text[]) as shown (name, url)
       where m.name = shown.name`,
      [MONITOR_PLANS.map(({ name }) => name), MONITOR_PLANS.map(({ address }) => address)],
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
