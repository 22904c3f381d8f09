import type { NewAccount } from '@tocsin/contracts/accounts/account';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Selector } from '@tocsin/contracts/labels/selector';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { until } from '@tocsin/embedded/testing/until';
import { bearer, fetchApi } from '@tocsin/lab/api-client';
import { acceptInvitation, type DashboardSystem, type DashboardUser } from '../dashboard-system.ts';
import { insertHistory } from './history.ts';
import {
  areSettled,
  CANARIES,
  CANARY_REGION,
  createMonitors,
  DOWN,
  IN_MAINTENANCE,
  SERVED_REGIONS,
  UNSERVED,
  UNSERVED_REGION,
} from './monitors.ts';

const HOUR_MS = 3_600_000;
/** The paths of receivers that respond with a status other than 200. After a 410, the channel is disabled. */
const STATUS_BY_PATH: Readonly<Record<string, number>> = { '/data-team': 500, '/pager': 410 };

/** Ids for the paths of pages. */
export interface Filled {
  /** A monitor that is down. */
  readonly monitorId: string;
  /** A monitor that is up, in several regions. */
  readonly upMonitorId: string;
  /** A monitor in a region without a checker. */
  readonly unservedMonitorId: string;
  readonly channelId: string;
  readonly windowId: string;
  /** An open, acknowledged incident with a note. */
  readonly incidentId: string;
  readonly invitationToken: string;
  /** An account of which the owner is no member. */
  readonly accountId: string;
}

/**
 * Fills a new system with the data of a team: monitors of every status, working, failing and disabled channels, incidents, deliveries,
 * maintenance windows, canaries, users and keys. Starts a checker and a notifier, which continue to run.
 */
export async function fillSystem(dashboard: DashboardSystem, owner: DashboardUser): Promise<Filled> {
  const { system } = dashboard;
  const monitors = await createMonitors(dashboard);
  const idOf = (name: string): string => monitors.get(name)?.id ?? '';
  const served = [...monitors.values()].filter(({ regions }) => !regions.includes(UNSERVED_REGION));
  await insertHistory(
    system,
    served.map(({ id }) => id),
  );
  const canaryMonitorIds = CANARIES.map(idOf);
  await owner.call('PUT /api/dashboard/regions/:code', {
    path: { code: CANARY_REGION },
    body: { canaryMonitorIds },
  });
  const { working, disabled } = await createChannels(dashboard, owner, idOf(DOWN));
  const window = await createWindows(owner, idOf(IN_MAINTENANCE), [idOf('Shop'), idOf('Checkout')]);
  await createPeople(dashboard, owner);
  const checker = system.service('checker', { REGION: SERVED_REGIONS });
  await Promise.all([checker.start(), system.service('notifier').start()]);
  await until('every status', async () =>
    areSettled((await owner.call('GET /api/dashboard/monitors')).monitors),
  );
  await until('the deliveries', async () => {
    const request = { id: working.id, query: { state: 'delivered' } } as const;
    return (await owner.call('GET /api/dashboard/channels/:id/deliveries', request)).deliveries.length >= 4;
  });
  await until('a disabled channel', async () => {
    const { channel } = await owner.call('GET /api/dashboard/channels/:id', { id: disabled.id });
    return channel.disabledReason !== null;
  });
  const { token } = await owner.call('POST /api/dashboard/invitations', { body: { role: 'member' } });
  const incidentId = await writeAboutIncident(owner, idOf(DOWN));
  return {
    monitorId: idOf(DOWN),
    upMonitorId: idOf('Shop'),
    unservedMonitorId: idOf(UNSERVED),
    channelId: working.id,
    windowId: window.id,
    incidentId,
    invitationToken: token,
    accountId: await createAccounts(owner),
  };
}

const NOTE = `The **payment provider** answers 503 to everyone:

- [its status page](https://status.example) has nothing yet
- support is informed, \`ticket 4711\``;

/** Acknowledges the open incident of a monitor, and adds a note. @returns its id */
async function writeAboutIncident(owner: DashboardUser, monitorId: string): Promise<string> {
  const query = { monitorId, state: 'open' } as const;
  const { incidents } = await owner.call('GET /api/dashboard/incidents', { query });
  const id = incidents[0]?.id ?? '';
  await owner.call('PUT /api/dashboard/incidents/:id/acknowledgement', { id, body: {} });
  await owner.call('POST /api/dashboard/incidents/:id/notes', { id, body: { text: NOTE } });
  return id;
}

async function createChannels(
  { receiver }: DashboardSystem,
  owner: DashboardUser,
  downId: string,
): Promise<{ readonly working: Channel; readonly disabled: Channel }> {
  receiver.respond = ({ path }, response) => {
    const status = STATUS_BY_PATH[path] ?? 200;
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(`{"status":${status}}`);
  };
  const create = async (name: string, path: string, monitorIds: string[]): Promise<Channel> => {
    const body = { name, url: receiver.url(path), monitorIds, allMonitors: monitorIds.length === 0 };
    return (await owner.call('POST /api/dashboard/channels', { body })).channel;
  };
  const disabled = await create('Old pager', '/pager', [downId]);
  const shop = {
    name: 'Shop team',
    url: receiver.url('/shop-team'),
    monitorIds: [],
    allMonitors: false,
    selector: { matchLabels: { app: 'shop' } },
    events: ['monitor.down', 'monitor.up'],
  };
  await owner.call('POST /api/dashboard/channels', { body: shop });
  await create('Data team', '/data-team', [downId]);
  return { disabled, working: await create('On call', '/on-call', []) };
}

/** Creates a running, a scheduled and a recurring maintenance window. @returns the recurring one */
async function createWindows(
  owner: DashboardUser,
  activeId: string,
  otherIds: string[],
): Promise<MaintenanceWindow> {
  const create = async (
    name: string,
    fromHours: number,
    monitorIds: string[],
    more: { rrule?: string; timeZone?: string; selector?: Selector } = {},
  ): Promise<MaintenanceWindow> => {
    const times = { startsAt: inHours(fromHours), endsAt: inHours(fromHours + 2) };
    const body = { name, ...times, monitorIds, ...more };
    return (await owner.call('POST /api/dashboard/maintenance-windows', { body })).maintenanceWindow;
  };
  await create('Move to the new racks', -1, [activeId]);
  await create('Certificate renewal', 26, otherIds.slice(0, 1));
  await create('Upgrade of the checkout', 30, [], { selector: { matchLabels: { team: 'checkout' } } });
  const weekly = { rrule: 'FREQ=WEEKLY;COUNT=12', timeZone: 'Europe/Berlin' };
  return create('Weekly database upkeep', 50, otherIds, weekly);
}

/** Creates two accounts of other teams. @returns the id of one of them */
async function createAccounts(owner: DashboardUser): Promise<string> {
  const create = async (body: NewAccount): Promise<string> =>
    (await owner.call('POST /api/operator/accounts', { body })).account.id;
  await create({ name: 'Search', quotas: { monitors: 200, checksPerMinute: 600 } });
  const id = await create({
    name: 'Payments',
    quotas: { monitors: 500 },
    groups: [
      { group: 'payments-oncall', role: 'owner' },
      { group: 'engineering', role: 'viewer' },
    ],
  });
  for (const [email, role] of [
    ['grace@example.com', 'owner'],
    ['katherine@example.com', 'viewer'],
  ] as const)
    await owner.call('PUT /api/operator/accounts/:id/members', { id, body: { email, role } });
  return id;
}

/** Creates a member, two open invitations, and two keys, and uses one of the keys. */
async function createPeople({ api }: DashboardSystem, owner: DashboardUser): Promise<void> {
  const invite = async (body: { role: UserRole; email?: string }): Promise<string> =>
    (await owner.call('POST /api/dashboard/invitations', { body })).token;
  const grace = { name: 'Grace Hopper', email: 'grace@example.com', password: 'nanoseconds matter' };
  await acceptInvitation(api.port, await invite({ role: 'member', email: grace.email }), grace);
  await invite({ role: 'owner', email: 'katherine@example.com' });
  await invite({ role: 'member' });

  type Body = { name: string; expiresAt?: string; scopes?: 'read'; sources?: string[] };
  const createKey = async (body: Body): Promise<string> =>
    (await owner.call('POST /api/dashboard/api-keys', { body })).key;
  const used = await createKey({ name: 'terraform production' });
  await createKey({ name: 'shop CI', expiresAt: inHours(90 * 24), sources: ['platform', 'shop/*'] });
  await createKey({ name: 'Grafana', scopes: 'read' });
  const target = { baseUrl: `http://127.0.0.1:${api.port}`, headers: bearer(used) };
  const { status } = await fetchApi(target, { method: 'GET', path: '/api/cli/monitors' });
  if (status !== 200) throw new Error(`a new key got ${status}`);
}

function inHours(hours: number): string {
  return new Date(Date.now() + hours * HOUR_MS).toISOString();
}
