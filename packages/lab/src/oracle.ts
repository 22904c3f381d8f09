import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import type { Event } from '@tocsin/contracts/monitors/events';

/** A webhook that must have been sent; stamps are compared apart. */
export type ExpectedWebhook = Omit<WebhookPayload, 'timestamp' | 'monitorId' | 'monitorName' | 'runbookUrl'>;

export interface WatchedMonitor {
  readonly failureThreshold: number;
  readonly regions: readonly string[];
  /** Maintenance, earliest first, overlapping windows as one; epoch milliseconds. */
  readonly maintenance: readonly { readonly startsAt: number; readonly endsAt: number }[];
}

/** What of an event says which webhooks follow. */
export type ImplyingEvent = Pick<Event, 'timestamp' | 'status' | 'latency' | 'errorReason' | 'region'>;

/** Of a webhook what is compared. */
export function withoutStamps(payload: WebhookPayload): ExpectedWebhook {
  const { event, status, previousStatus, latency, errorReason, region } = payload;
  return { event, status, previousStatus, latency, errorReason, region };
}

type Status = WebhookPayload['previousStatus'];

/**
 * What a monitor's webhooks must be, from nothing but what its target answered: an implementation of the rules of its own, to
 * be compared with the system's. Every region is assumed to stay fresh.
 */
export function expectedWebhooks(
  monitor: WatchedMonitor,
  events: readonly ImplyingEvent[],
): ExpectedWebhook[] {
  const expected: ExpectedWebhook[] = [];
  const streaks = new Map<string, number>();
  // As types, since the closures below change them.
  let status = 'PENDING' as Status;
  let covered = 'PENDING' as Status;
  let incident = false;
  let lastFailure: ImplyingEvent | undefined;
  let last: ImplyingEvent | undefined;

  const isDown = (): boolean =>
    2 * [...streaks.values()].filter((streak) => streak >= monitor.failureThreshold).length >
    monitor.regions.length;

  const change = (to: 'UP' | 'DOWN', by: ImplyingEvent | undefined, covers: Status): void => {
    const facts = {
      status: to,
      previousStatus: status,
      latency: by?.latency ?? 0,
      errorReason: to === 'DOWN' ? (by?.errorReason ?? null) : null,
      region: by?.region ?? '',
    };
    if (to === 'DOWN') {
      expected.push({ event: 'monitor.down', ...facts });
      if (!incident) expected.push({ event: 'incident.created', ...facts });
      incident = true;
    } else if (covers === 'DOWN') {
      expected.push({ event: 'monitor.up', ...facts });
      if (incident) expected.push({ event: 'incident.resolved', ...facts });
      incident = false;
    }
    status = to;
  };

  const enter = (): void => {
    const region = monitor.regions[0] ?? '';
    const facts = { previousStatus: status, latency: 0, errorReason: null, region };
    expected.push({ event: 'monitor.maintenance', status: 'MAINTENANCE', ...facts });
    covered = status;
    status = 'MAINTENANCE';
  };

  const leave = (): void => {
    const down = isDown();
    // Where the last checks failed nothing shows that DOWN is over (ADR 10): it comes back without a word.
    if (covered === 'DOWN' && !down && ![...streaks.values()].includes(0)) {
      status = 'DOWN';
      return;
    }
    change(down ? 'DOWN' : 'UP', down ? lastFailure : last, covered);
  };

  const boundaries = monitor.maintenance.flatMap(({ startsAt, endsAt }) => [
    { at: startsAt, pass: enter },
    { at: endsAt, pass: leave },
  ]);
  for (const event of events) {
    const time = Date.parse(event.timestamp);
    for (let next = boundaries[0]; next !== undefined && time >= next.at; next = boundaries[0]) {
      boundaries.shift();
      next.pass();
    }
    streaks.set(event.region, event.status === 'UP' ? 0 : (streaks.get(event.region) ?? 0) + 1);
    last = event;
    if (event.status === 'DOWN') lastFailure = event;
    if (status === 'MAINTENANCE') continue;
    const staysDown = status === 'DOWN' && event.status === 'DOWN';
    const now = isDown() || staysDown ? 'DOWN' : 'UP';
    if (now !== status) change(now, event, status);
  }
  return expected;
}
