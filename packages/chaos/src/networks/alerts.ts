import { groupBy, iso } from '../oracle/history.ts';
import type { Check } from '../oracle/record.ts';
import type { NetworkMonitor, NetworkRecord, Outage, Span } from './record.ts';
import { downBy, NOTICED_WITHIN_MS, PROVEN_WITHIN_MS, SLACK_MS, upBy } from './visibility.ts';

export const ALERT_CHECKS: readonly Check<NetworkRecord>[] = [
  ['a healthy target causes no alert', falseAlerts],
  ['each outage causes one alert, in time', lostOutages],
  ['each outage ends with one recovery, in time', lostRecoveries],
  ['each alert is received once', lostWebhooks],
  ['canaries alert for their region', silentCanaries],
];

/** A status change may be this much later than its check, because each change of a monitor is later than the one before. */
const STATUS_CLOCK_MS = 10;

type WatchedMonitor = NetworkRecord['monitors'][number];
type Change = NetworkRecord['changes'][number];

/** A monitor with its changes to DOWN and from DOWN to UP. */
interface Alerts {
  readonly monitor: WatchedMonitor;
  readonly downs: readonly Change[];
  readonly ups: readonly Change[];
}

export function alertsOf({ monitors, changes }: NetworkRecord): Alerts[] {
  const byMonitor = groupBy(changes, ({ monitorId }) => monitorId);
  return monitors.map((monitor) => {
    const own = byMonitor.get(monitor.id) ?? [];
    const ups = own.filter(({ from, to }) => from === 'DOWN' && to === 'UP');
    return { monitor, downs: own.filter(({ to }) => to === 'DOWN'), ups };
  });
}

/** When an outage may lead to DOWN: a check that began in it may end later, and wait for proof. */
function mayAlert(monitor: NetworkMonitor, { from, until }: Outage): Span {
  return { from, until: until + monitor.timeoutSeconds * 1_000 + PROVEN_WITHIN_MS + SLACK_MS };
}

function isWithin(time: number, { from, until }: Span): boolean {
  return time >= from && time <= until;
}

export function falseAlerts(record: NetworkRecord): string[] {
  return alertsOf(record).flatMap(({ monitor, downs }) =>
    downs
      .filter(({ timestamp }) => !isExplained(record, monitor, timestamp))
      .map(({ timestamp, region }) => `${monitor.key} was DOWN at ${iso(timestamp)} by ${region}`),
  );
}

function isExplained(record: NetworkRecord, monitor: WatchedMonitor, at: number): boolean {
  if (!monitor.isCanary) return monitor.outages.some((outage) => isWithin(at, mayAlert(monitor, outage)));
  // The time-out of a canary is so short that a lossy link makes it fail now and then.
  const losses = record.losses.filter(({ region }) => monitor.regions.includes(region));
  return [...cutsOf(record, monitor), ...losses].some(({ from, until }) =>
    isWithin(at, { from, until: until + monitor.timeoutSeconds * 1_000 + SLACK_MS }),
  );
}

/** The cuts that affect a canary. */
function cutsOf({ cuts }: NetworkRecord, { regions, byName }: NetworkMonitor): NetworkRecord['cuts'] {
  return cuts.filter(({ region, kind }) => regions.includes(region) && (byName || kind !== 'dns'));
}

/** An outage, and what followed from it. */
export interface OutageFacts {
  readonly monitor: WatchedMonitor;
  readonly outage: Outage;
  /** Until when it must have led to DOWN; infinite if it was too short, for example because a cut lasted longer than planned. */
  readonly dueAt: number;
  readonly downs: readonly Change[];
  /** Until when it must be UP again. */
  readonly upDueAt: number;
  /** Before the next outage. Of a `cold` outage, only those after it: an extra check may find the target awake. */
  readonly ups: readonly Change[];
}

export function outagesOf(record: NetworkRecord): OutageFacts[] {
  return alertsOf(record).flatMap(({ monitor, downs, ups }) =>
    monitor.outages.map((outage, index) => {
      const by = downBy(record, monitor, outage);
      const next = monitor.outages[index + 1]?.from ?? Infinity;
      const [first, ...more] = downs.filter(({ timestamp }) =>
        isWithin(timestamp, mayAlert(monitor, outage)),
      );
      const repeated = more.filter((down) => !beganBefore(record, down, outage.until));
      const ownUps = ups.filter(({ timestamp }) =>
        isWithin(timestamp, { from: outage.kind === 'cold' ? outage.until : outage.from, until: next }),
      );
      return {
        monitor,
        outage,
        dueAt: by <= outage.until ? by : Infinity,
        downs: first === undefined ? [] : [first, ...repeated],
        upDueAt: upBy(record, monitor, outage.until),
        // A recovery follows each alert that does not count.
        ups: ownUps.slice(0, Math.max(1, ownUps.length - (more.length - repeated.length))),
      };
    }),
  );
}

/**
 * Whether the check that led to a change after the end of an outage began in the outage. Another region may have found the target up
 * meanwhile.
 */
function beganBefore({ events }: NetworkRecord, change: Change, end: number): boolean {
  const check = events.find(
    (event) =>
      event.monitorId === change.monitorId &&
      event.region === change.region &&
      event.timestamp <= change.timestamp &&
      event.timestamp > change.timestamp - STATUS_CLOCK_MS,
  );
  return change.timestamp > end && (check?.slot ?? Infinity) < end;
}

function describe({ monitor, outage: { kind, from, until } }: OutageFacts): string {
  return `the outage (${kind}) of ${monitor.key} from ${iso(from)} to ${iso(until)}`;
}

function lostOutages(record: NetworkRecord): string[] {
  return outagesOf(record).flatMap(lossesOf);
}

function lossesOf(facts: OutageFacts): string[] {
  const { outage, dueAt, downs } = facts;
  const [first, ...more] = downs;
  if (first === undefined)
    return dueAt === Infinity ? [] : [`${describe(facts)} was not detected, due by ${iso(dueAt)}`];
  const at = iso(first.timestamp);
  return [
    ...(first.timestamp > dueAt ? [`${describe(facts)} was detected at ${at}, due by ${iso(dueAt)}`] : []),
    ...(outage.kind === 'cold' ? [] : more).map(
      ({ timestamp }) => `${describe(facts)} was detected again at ${iso(timestamp)}`,
    ),
  ];
}

function lostRecoveries(record: NetworkRecord): string[] {
  return outagesOf(record).flatMap((facts) => {
    if (facts.ups.length > 0) return wrongRecoveriesOf(facts);
    const isDue = facts.downs.length > 0 && facts.upDueAt <= record.endedAt;
    return isDue ? [`${describe(facts)} did not end, due by ${iso(facts.upDueAt)}`] : [];
  });
}

function wrongRecoveriesOf(facts: OutageFacts): string[] {
  const { outage, upDueAt, ups } = facts;
  return ups.flatMap(({ timestamp }, index) => {
    const at = iso(timestamp);
    if (timestamp < outage.until) return [`${describe(facts)} ended too early, at ${at}`];
    if (index > 0) return [`${describe(facts)} ended again at ${at}`];
    return timestamp > upDueAt ? [`${describe(facts)} ended at ${at}, due by ${iso(upDueAt)}`] : [];
  });
}

/** The number of different webhooks of each monitor, by event. */
function webhooksOf({ receipts }: NetworkRecord): Map<string, number> {
  const received = new Map(receipts.map(({ id, body }) => [id, JSON.parse(body) as Record<string, unknown>]));
  const keys = [...received.values()].map(({ monitorId, event }) => `${String(monitorId)} ${String(event)}`);
  return new Map([...groupBy(keys, (key) => key)].map(([key, all]) => [key, all.length]));
}

function lostWebhooks(record: NetworkRecord): string[] {
  const webhooks = webhooksOf(record);
  return alertsOf(record).flatMap(({ monitor, downs, ups }) => {
    const expected = { 'monitor.down': downs.length, 'monitor.up': ups.length };
    return Object.entries(expected).flatMap(([event, count]) => {
      const received = webhooks.get(`${monitor.id} ${event}`) ?? 0;
      return received === count
        ? []
        : [`${monitor.key}: ${received} of ${count} webhooks ${event} were received`];
    });
  });
}

/** A region that is cut off for long alerts through its canaries. */
function silentCanaries(record: NetworkRecord): string[] {
  return alertsOf(record)
    .filter(({ monitor }) => monitor.isCanary)
    .flatMap(({ monitor, downs, ups }) =>
      cutsOf(record, monitor)
        .filter(({ from, until }) => until - from >= NOTICED_WITHIN_MS)
        .filter(({ from, until }) => {
          const isDown =
            downs.filter((down) => down.timestamp < from).length >
            ups.filter((up) => up.timestamp < from).length;
          return (
            !isDown && !downs.some(({ timestamp }) => isWithin(timestamp, { from, until: until + SLACK_MS }))
          );
        })
        .map(({ from, until }) => `${monitor.key} was not DOWN from ${iso(from)} to ${iso(until)}`),
    );
}
