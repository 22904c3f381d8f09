import type { Monitor } from '@tocsin/contracts/monitor';
import type { Delivery } from '@tocsin/contracts/channel-delivery';
import type { Channel } from '@tocsin/contracts/channel';
import { until } from '@tocsin/embedded/testing/until';
import type { DashboardClient } from '../system/dashboard-client.ts';
import type { DashboardSystem } from '../system/dashboard-system.ts';
import { createChannels } from './create-channels.ts';
import { createMonitors } from './create-monitors.ts';
import { createPeople } from './create-people.ts';
import { createWindows } from './create-windows.ts';
import { fillHistory } from './fill-history.ts';
import { DOWN, IN_MAINTENANCE, MONITOR_PLANS, SERVED_REGIONS, UNSERVED_REGION } from './monitor-plans.ts';

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
