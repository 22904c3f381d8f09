import { historiesOf, iso, type History } from '../history.ts';
import {
  CUT_KINDS,
  type Check,
  type MonitorFacts,
  type NetworkMonitor,
  type NetworkRecord,
  type Outage,
  type Span,
  type StatusChangeFacts,
} from '../record.ts';
import { wrongFinalStatuses } from '../statuses.ts';
import { downBy, NOTICED_WITHIN_MS, PROVEN_WITHIN_MS, SLACK_MS, upBy } from './visibility.ts';

/** Alerts are judged by the states of the targets, and by the times in which each region could see them. */
export const ALERT_CHECKS: readonly Check<NetworkRecord>[] = [
  ['the campaign has something to lose', idleCampaign],
  ['each monitor shows the state of its target', wrongFinalStatuses],
  ['a healthy target causes no alert', falseAlerts],
  ['each outage causes one alert, in time', (record) => outagesOf(record).flatMap(lossesOf)],
  ['each outage ends with one recovery, in time', lostRecoveries],
  ['canaries alert for their region', silentCanaries],
];

/** The share of the outages that must last long enough to be due. */
const MIN_DUE_SHARE = 0.8;
/** A change may be this much later than its check, because the timestamps of a monitor increase. */
const STATUS_CLOCK_MS = 10;

interface Alerts {
  readonly plan: NetworkMonitor;
  readonly downs: readonly StatusChangeFacts[];
  readonly ups: readonly StatusChangeFacts[];
}

/** Histories are in the order of the monitors. */
function alertsOf(record: NetworkRecord): Alerts[] {
  return historiesOf(record).map(({ monitor, changes }: History) => ({
    plan: (monitor as MonitorFacts<NetworkMonitor>).plan,
    downs: changes.filter(({ to }) => to === 'DOWN'),
    ups: changes.filter(({ from, to }) => from === 'DOWN' && to === 'UP'),
  }));
}

function idleCampaign(record: NetworkRecord): string[] {
  const { cuts, plannedCuts, database, hasCanaries } = record;
  const kinds = CUT_KINDS.slice(0, plannedCuts).filter((kind) => !cuts.some((cut) => cut.kind === kind));
  const outages = outagesOf(record);
  const due = outages.filter(({ dueAt }) => dueAt !== Infinity).length;
  return [
    ...(cuts.length === plannedCuts ? [] : [`${cuts.length} of ${plannedCuts} cuts took place`]),
    ...kinds.map((kind) => `no cut was ${kind}`),
    ...(due > 0 && due >= MIN_DUE_SHARE * outages.length
      ? []
      : [`${due} of ${outages.length} outages lasted long enough`]),
    ...(hasCanaries && !database.events.some(({ inconclusive }) => inconclusive)
      ? ['no result was inconclusive']
      : []),
  ];
}

/** An outage may lead to DOWN after its end, because a check that began in it may wait for proof. */
function mayAlert({ timeoutSeconds }: NetworkMonitor, { from, until }: Outage): Span {
  return { from, until: until + timeoutSeconds * 1_000 + PROVEN_WITHIN_MS + SLACK_MS };
}

function isWithin(time: number, { from, until }: Span): boolean {
  return time >= from && time <= until;
}

export function falseAlerts(record: NetworkRecord): string[] {
  return alertsOf(record).flatMap(({ plan, downs }) =>
    downs
      .filter(({ timestamp }) => !isExplained(record, plan, timestamp))
      .map(({ timestamp, region }) => `${plan.key} was DOWN at ${iso(timestamp)} by ${region}`),
  );
}

function isExplained(record: NetworkRecord, plan: NetworkMonitor, at: number): boolean {
  if (!plan.isCanary) return plan.outages.some((outage) => isWithin(at, mayAlert(plan, outage)));
  // The timeout of a canary is so short that it may fail on a lossy link.
  const losses = record.losses.filter(({ region }) => plan.regions.includes(region));
  return [...cutsOf(record, plan), ...losses].some(({ from, until }) =>
    isWithin(at, { from, until: until + plan.timeoutSeconds * 1_000 + SLACK_MS }),
  );
}

function cutsOf({ cuts }: NetworkRecord, { regions, byName }: NetworkMonitor): NetworkRecord['cuts'] {
  return cuts.filter(({ region, kind }) => regions.includes(region) && (byName || kind !== 'dns'));
}

interface OutageFacts {
  readonly plan: NetworkMonitor;
  readonly outage: Outage;
  /** The time by which it must have led to DOWN, or Infinity if it was too short. */
  readonly dueAt: number;
  readonly downs: readonly StatusChangeFacts[];
  /** The time by which the monitor must be UP again. */
  readonly upDueAt: number;
  /** Recoveries before the next outage. */
  readonly ups: readonly StatusChangeFacts[];
}

export function outagesOf(record: NetworkRecord): OutageFacts[] {
  return alertsOf(record).flatMap(({ plan, downs, ups }) =>
    plan.outages.map((outage, index) => {
      const by = downBy(record, plan, outage);
      // An extra check may find a target that starts cold awake, so recoveries during the outage do not count.
      const from = outage.kind === 'cold' ? outage.until : outage.from;
      const until = plan.outages[index + 1]?.from ?? Infinity;
      const [first, ...more] = downs.filter(({ timestamp }) => isWithin(timestamp, mayAlert(plan, outage)));
      const repeated = more.filter((down) => !beganBefore(record, down, outage.until));
      const recovered = ups.filter(({ timestamp }) => isWithin(timestamp, { from, until }));
      return {
        plan,
        outage,
        dueAt: by <= outage.until ? by : Infinity,
        downs: first === undefined ? [] : [first, ...repeated],
        upDueAt: upBy(record, plan, outage.until),
        // A recovery follows each alert that does not count.
        ups: recovered.slice(0, Math.max(1, recovered.length - (more.length - repeated.length))),
      };
    }),
  );
}

/**
 * Whether a change after an outage comes from a check that began in the outage. Another region may have found the target up meanwhile.
 */
function beganBefore({ database }: NetworkRecord, change: StatusChangeFacts, end: number): boolean {
  const check = database.events.find(
    ({ monitorId, region, timestamp }) =>
      monitorId === change.monitorId &&
      region === change.region &&
      timestamp <= change.timestamp &&
      timestamp > change.timestamp - STATUS_CLOCK_MS,
  );
  return change.timestamp > end && (check?.slot ?? Infinity) < end;
}

function describe({ plan, outage: { kind, from, until } }: OutageFacts): string {
  return `the outage (${kind}) of ${plan.key} from ${iso(from)} to ${iso(until)}`;
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
    const { outage, downs, ups, upDueAt } = facts;
    if (ups.length === 0) {
      const isDue = downs.length > 0 && upDueAt <= record.endedAt;
      return isDue ? [`${describe(facts)} did not end, due by ${iso(upDueAt)}`] : [];
    }
    return ups.flatMap(({ timestamp }, index) => {
      const at = iso(timestamp);
      if (timestamp < outage.until) return [`${describe(facts)} ended too early, at ${at}`];
      if (index > 0) return [`${describe(facts)} ended again at ${at}`];
      return timestamp > upDueAt ? [`${describe(facts)} ended at ${at}, due by ${iso(upDueAt)}`] : [];
    });
  });
}

/** A region that is cut off for long alerts through its canaries. */
function silentCanaries(record: NetworkRecord): string[] {
  return alertsOf(record)
    .filter(({ plan }) => plan.isCanary)
    .flatMap(({ plan, downs, ups }) =>
      cutsOf(record, plan)
        .filter(({ from, until }) => until - from >= NOTICED_WITHIN_MS)
        .filter(({ from, until }) => {
          const before = (changes: readonly StatusChangeFacts[]): number =>
            changes.filter(({ timestamp }) => timestamp < from).length;
          const wasDown = before(downs) > before(ups);
          const goesDown = downs.some(({ timestamp }) =>
            isWithin(timestamp, { from, until: until + SLACK_MS }),
          );
          return !wasDown && !goesDown;
        })
        .map(({ from, until }) => `${plan.key} was not DOWN from ${iso(from)} to ${iso(until)}`),
    );
}
