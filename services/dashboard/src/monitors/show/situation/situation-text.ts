import type { Channel } from '@tocsin/contracts/channels/channel';
import type { TimelineDelivery, TimelineEntry } from '@tocsin/contracts/incidents/timeline';
import type { Event, MonitorRegion } from '@tocsin/contracts/monitors/events';
import { joinWords } from '../../../components/format.ts';
import { describeAttempts } from '../../../incidents/delivery-text.ts';
import { describeRegion } from '../figures.ts';

/** Regions in the same state. */
export interface RegionGroup {
  readonly kind: 'failing' | 'passing' | 'silent' | 'isolated' | 'unserved';
  readonly text: string;
}

/**
 * Groups the regions of a monitor by state, worst first. `unserved` takes precedence over `isolated`.
 * @param isolated codes of regions without a network @param unserved codes of regions without a checker
 */
export function groupRegions(
  regions: readonly MonitorRegion[],
  isolated: readonly string[],
  unserved: readonly string[],
): RegionGroup[] {
  const kindOf = ({ region, status, failing, eligible }: MonitorRegion): RegionGroup['kind'] => {
    if (unserved.includes(region)) return 'unserved';
    if (isolated.includes(region)) return 'isolated';
    if (status === null || !eligible) return 'silent';
    return failing || status === 'DOWN' ? 'failing' : 'passing';
  };
  const of = (kind: RegionGroup['kind']): MonitorRegion[] => regions.filter((one) => kindOf(one) === kind);
  const names = (kind: RegionGroup['kind']): string => joinWords(of(kind).map(({ region }) => region));
  const texts: Readonly<Record<RegionGroup['kind'], string>> = {
    failing: of('failing')
      .map((one) => `${one.region}: ${describeRegion(one)}`)
      .join('; '),
    passing: `Passing: ${names('passing')}`,
    silent: `No recent result: ${names('silent')}`,
    isolated: `No network: ${names('isolated')}. Its failures do not count`,
    unserved: `Not checked from ${names('unserved')}: no checker or agent is running there`,
  };
  const order = ['failing', 'unserved', 'isolated', 'silent', 'passing'] as const;
  return order.flatMap((kind) => (of(kind).length === 0 ? [] : [{ kind, text: texts[kind] }]));
}

/** The latest failure that counts, and the latest one with a stored response. Null if there is none. */
export function latestFailures(events: readonly Event[]): {
  readonly failure: Event | null;
  readonly kept: Event | null;
} {
  const failures = events
    .filter(({ status, inconclusive, url }) => status === 'DOWN' && !inconclusive && url === null)
    .toSorted((one, other) => other.timestamp.localeCompare(one.timestamp));
  return { failure: failures[0] ?? null, kept: failures.find(({ hasResponse }) => hasResponse) ?? null };
}

/** The outcome of an incident's alerts to a channel. */
export interface Outcome {
  readonly channelId: string;
  readonly name: string;
  readonly state: TimelineDelivery['state'] | 'none';
  /** Null if the state needs no explanation. */
  readonly detail: string | null;
}

const WORST_FIRST = ['failed', 'held', 'pending', 'delivered'] as const;

/** The worst outcome for each channel, and channels to which nothing was sent. */
export function outcomesOf(entries: readonly TimelineEntry[], channels: readonly Channel[]): Outcome[] {
  const deliveries = entries.flatMap((entry) => (entry.kind === 'delivery' ? [entry.delivery] : []));
  const worst = deliveries.toSorted(
    (one, other) => WORST_FIRST.indexOf(one.state) - WORST_FIRST.indexOf(other.state),
  );
  const byChannel = new Map<string, TimelineDelivery>();
  for (const delivery of worst)
    if (!byChannel.has(delivery.channel.id)) byChannel.set(delivery.channel.id, delivery);
  const told = [...byChannel.values()].map(({ channel, state, attemptCount, statusCode, error }) => ({
    channelId: channel.id,
    name: channel.name,
    state,
    detail:
      state === 'held'
        ? 'The channel is disabled'
        : describeAttempts({
            state,
            attemptCount,
            error: error ?? (statusCode === null ? null : `HTTP ${statusCode}`),
          }),
  }));
  const others = channels.filter(({ id }) => !byChannel.has(id));
  return [
    ...told,
    ...others.map(({ id, name, enabled }) => ({
      channelId: id,
      name,
      state: 'none' as const,
      detail: enabled ? 'Nothing sent about this incident' : 'Disabled',
    })),
  ];
}
