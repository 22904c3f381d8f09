import type { Channel } from '@tocsin/contracts/channels/channel';
import type { Delivery } from '@tocsin/contracts/deliveries/delivery';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { until } from '@tocsin/embedded/testing/until';
import { acceptInvitation, type DashboardClient } from '../dashboard-system.ts';
import type { DashboardSystem } from '../dashboard-system.ts';
import { fillHistory } from './history.ts';
import {
  createMonitors,
  DOWN,
  IN_MAINTENANCE,
  MONITOR_PLANS,
  SERVED_REGIONS,
  UNSERVED_REGION,
} from './monitors.ts';

const STATUS_BY_PATH: Readonly<Record<string, number>> = { '/data-team': 500, '/pager': 410 };

interface Channels {
  readonly working: Channel;
  readonly failing: Channel;
  /** Its receiver answers 410: the first webhook disables it. */
  readonly disabled: Channel;
}

/** A channel that works, one that fails, and one that will be disabled. */
async function createChannels(
  { receiver }: DashboardSystem,
  owner: DashboardClient,
  downId: string,
): Promise<Channels> {
  receiver.answer = ({ path }, response) => {
    const status = STATUS_BY_PATH[path] ?? 200;
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(`{"status":${status}}`);
  };
  const create = async (name: string, path: string, monitorIds: string[]): Promise<Channel> => {
    const body = { name, url: receiver.url(path), monitorIds, allMonitors: monitorIds.length === 0 };
    return (await owner.request<{ channel: Channel }>('POST', '/channels', body)).channel;
  };
  return {
    disabled: await create('Old pager', '/pager', [downId]),
    failing: await create('Data team', '/data-team', [downId]),
    working: await create('On call', '/on-call', []),
  };
}

interface Invitation {
  readonly token: string;
}

/** A member beside the owner, two open invitations, and two keys of which one was used. */
async function createPeople({ api }: DashboardSystem, owner: DashboardClient): Promise<void> {
  const invite = (role: string, email?: string): Promise<Invitation> =>
    owner.request<Invitation>('POST', '/invitations', { role, ...(email && { email }) });
  const { token } = await invite('member', 'grace@example.com');
  await acceptInvitation(api.port, token, {
    name: 'Grace Hopper',
    email: 'grace@example.com',
    password: 'nanoseconds matter',
  });
  await invite('owner', 'katherine@example.com');
  await invite('member');

  const { key } = await owner.request<{ key: string }>('POST', '/api-keys', { name: 'terraform production' });
  await owner.request('POST', '/api-keys', {
    name: 'CI of the shop',
    expiresAt: new Date(Date.now() + 90 * 86_400_000).toISOString(),
  });
  const used = await fetch(`http://127.0.0.1:${api.port}/api/cli/monitors`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  if (!used.ok) throw new Error(`a new key is refused: ${used.status}`);
  await used.body?.cancel();
}

const HOUR_MS = 3_600_000;

/** One that runs, one that comes back each week, one to come. @returns the one that comes back */
async function createWindows(
  owner: DashboardClient,
  runningId: string,
  otherIds: readonly string[],
): Promise<MaintenanceWindow> {
  const now = Date.now();
  const create = async (
    name: string,
    fromHours: number,
    monitorIds: readonly string[],
    recurrence: { rrule?: string; timeZone?: string } = {},
  ): Promise<MaintenanceWindow> => {
    const startsAt = now + fromHours * HOUR_MS;
    const body = {
      name,
      startsAt: new Date(startsAt).toISOString(),
      endsAt: new Date(startsAt + 2 * HOUR_MS).toISOString(),
      monitorIds,
      ...recurrence,
    };
    const path = '/maintenance-windows';
    return (await owner.request<{ maintenanceWindow: MaintenanceWindow }>('POST', path, body))
      .maintenanceWindow;
  };
  await create('Move to the new racks', -1, [runningId]);
  await create('Certificate renewal', 26, otherIds.slice(0, 1));
  return create('Weekly database upkeep', 50, otherIds, {
    rrule: 'FREQ=WEEKLY;COUNT=12',
    timeZone: 'Europe/Berlin',
  });
}

/** Much longer than it takes: on a machine that is busy too. */
const WITHIN_MS = 120_000;

/** What pages are about: ids for their paths. */
export interface Filled {
  readonly monitorId: string;
  readonly channelId: string;
  readonly windowId: string;
  /** Of an invitation that nobody has accepted. */
  readonly invitationToken: string;
}

/**
 * Fills a fresh system as a team would have it after a while: monitors of every status, channels that work, fail and are
 * disabled, incidents, deliveries, windows, people and keys. Starts a checker and a notifier; both go on.
 */
export async function fillSystem(dashboard: DashboardSystem, owner: DashboardClient): Promise<Filled> {
  const monitors = await createMonitors(dashboard);
  const idOf = (name: string): string => monitors.get(name)?.id ?? '';
  await fillHistory(dashboard.system.databaseUrl, watched(monitors));
  const channels = await createChannels(dashboard, owner, idOf(DOWN));
  const window = await createWindows(owner, idOf(IN_MAINTENANCE), [idOf('Shop'), idOf('Checkout')]);
  await createPeople(dashboard, owner);
  await Promise.all([dashboard.startChecker(SERVED_REGIONS), dashboard.startNotifier()]);
  await until('every status', () => hasEveryStatus(owner), WITHIN_MS);
  await until('the deliveries', () => hasDeliveries(owner, channels.working.id), WITHIN_MS);
  await until('a disabled channel', () => isDisabled(owner, channels.disabled.id), WITHIN_MS);
  const { token } = await owner.request<{ token: string }>('POST', '/invitations', { role: 'member' });
  return {
    monitorId: idOf(DOWN),
    channelId: channels.working.id,
    windowId: window.id,
    invitationToken: token,
  };
}

/** Those that somebody checks. */
function watched(monitors: ReadonlyMap<string, Monitor>): string[] {
  return [...monitors.values()]
    .filter(({ regions }) => !regions.includes(UNSERVED_REGION))
    .map(({ id }) => id);
}

async function hasEveryStatus(owner: DashboardClient): Promise<boolean> {
  const { monitors } = await owner.request<{ monitors: Monitor[] }>('GET', '/monitors');
  const statuses = new Map(monitors.map(({ name, status }) => [name, status]));
  return MONITOR_PLANS.every(({ name, target, regions }) => {
    if (regions.includes(UNSERVED_REGION)) return statuses.get(name) === 'PENDING';
    if (name === IN_MAINTENANCE) return statuses.get(name) === 'MAINTENANCE';
    return statuses.get(name) === target.toUpperCase();
  });
}

async function hasDeliveries(owner: DashboardClient, channelId: string): Promise<boolean> {
  const path = `/channels/${channelId}/deliveries?state=delivered`;
  return (await owner.request<{ deliveries: Delivery[] }>('GET', path)).deliveries.length >= 4;
}

async function isDisabled(owner: DashboardClient, channelId: string): Promise<boolean> {
  const { channel } = await owner.request<{ channel: Channel }>('GET', `/channels/${channelId}`);
  return channel.disabledReason !== null;
}
