import { historiesOf, iso, isWithin, overlaps, type History } from './history.ts';
import type { Check, NetworkMonitor, NetworkRecord, Outage, Span, StatusChangeFacts } from './record.ts';
import { cutsOf, downBy, NOTICED_WITHIN_MS, SLACK_MS, spanOf, upBy } from './reachability.ts';

/** Alerts are compared with the states of the targets and with the times in which each region could reach them. */
export const OUTAGE_CHECKS: readonly Check<NetworkRecord>[] = [
  ['a healthy target causes no alert', falseAlerts],
  ['each outage causes one alert, in time', lostAlerts],
  ['each outage ends with one recovery, in time', lostRecoveries],
  ['canaries alert for their region', silentCanaries],
];

/** A change may have a timestamp this much later than its check, because the timestamps of a monitor increase. */
const STATUS_CLOCK_MS = 10;

function planOf({ monitor }: History): NetworkMonitor {
  return monitor.plan as NetworkMonitor;
}

function downsOf({ changes }: History): StatusChangeFacts[] {
  return changes.filter(({ to }) => to === 'DOWN');
}

/** Returns the time from the start of the check that causes a change to the change itself. */
function causeOf({ events }: History, { region, timestamp }: StatusChangeFacts): Span {
  const check = events.findLast(
    (event) =>
      event.region === region &&
      event.timestamp <= timestamp &&
      event.timestamp > timestamp - STATUS_CLOCK_MS,
  );
  return { from: check === undefined ? timestamp : spanOf(check).from, until: timestamp };
}

/** The check of each alert must overlap an outage. Canaries fail without a network, and their short timeout may fail on a lossy link. */
export function falseAlerts(record: NetworkRecord): string[] {
  return historiesOf(record).flatMap((history) => {
    const plan = planOf(history);
    const losses = record.losses.filter(({ region }) => plan.regions.includes(region));
    const causes = plan.isCanary ? [...cutsOf(record.cuts, plan), ...losses] : plan.outages;
    return downsOf(history)
      .filter((down) => !causes.some((cause) => overlaps(cause, causeOf(history, down))))
      .map(({ timestamp, region }) => `${plan.key} was DOWN at ${iso(timestamp)} by ${region}`);
  });
}

interface OutageFacts {
  readonly outage: Outage;
  readonly name: string;
  /** The outage must have caused DOWN by this time. Infinity if it was too short. */
  readonly dueAt: number;
  /** When the outage first caused DOWN, or undefined. */
  readonly downAt: number | undefined;
  /** The time by which the monitor must be UP again. */
  readonly upDueAt: number;
  /** Recoveries before the next outage. */
  readonly upsAt: readonly number[];
}

export function outagesOf(record: NetworkRecord): OutageFacts[] {
  return historiesOf(record).flatMap((history) => {
    const plan = planOf(history);
    const ups = history.changes.filter(({ from, to }) => from === 'DOWN' && to === 'UP');
    return plan.outages.map((outage, index) => {
      const { kind, from, until } = outage;
      const by = downBy(record, plan, outage);
      const next = { from, until: plan.outages[index + 1]?.from ?? Infinity };
      return {
        outage,
        name: `the outage (${kind}) of ${plan.key} from ${iso(from)} to ${iso(until)}`,
        dueAt: by <= until ? by : Infinity,
        downAt: downsOf(history).find((down) => overlaps(outage, causeOf(history, down)))?.timestamp,
        upDueAt: upBy(record, plan, until),
        upsAt: ups.map(({ timestamp }) => timestamp).filter((time) => isWithin(time, next)),
      };
    });
  });
}

/** A second alert is false, or follows a recovery that is too early. */
function lostAlerts(record: NetworkRecord): string[] {
  return outagesOf(record)
    .filter(({ dueAt, downAt = Infinity }) => downAt > dueAt)
    .map(({ name, dueAt, downAt }) => {
      const detected = downAt === undefined ? 'not detected' : `detected at ${iso(downAt)}`;
      return `${name} was ${detected}, due by ${iso(dueAt)}`;
    });
}

function lostRecoveries(record: NetworkRecord): string[] {
  return outagesOf(record).flatMap(({ outage: { kind, until }, name, downAt, upDueAt, upsAt }) => {
    // An extra check may find a target that starts cold awake.
    const early = kind === 'cold' ? [] : upsAt.filter((time) => time < until);
    const upAt = upsAt.find((time) => time >= until);
    const due = `due by ${iso(upDueAt)}`;
    const problems = early.map((time) => `${name} ended too early, at ${iso(time)}`);
    if (upAt === undefined && downAt !== undefined && upDueAt <= record.endedAt)
      problems.push(`${name} did not end, ${due}`);
    if (upAt !== undefined && upAt > upDueAt) problems.push(`${name} ended at ${iso(upAt)}, ${due}`);
    return problems;
  });
}

/** A region alerts through its canaries if it is cut off for long. */
function silentCanaries(record: NetworkRecord): string[] {
  return historiesOf(record)
    .filter((history) => planOf(history).isCanary)
    .flatMap((history) =>
      cutsOf(record.cuts, history.monitor.plan)
        .filter(({ from, until }) => until - from >= NOTICED_WITHIN_MS)
        .filter(({ from, until }) => {
          const before = history.changes.findLast(({ timestamp }) => timestamp < from)?.to;
          const alerted = { from, until: until + SLACK_MS };
          return before !== 'DOWN' && !downsOf(history).some((down) => isWithin(down.timestamp, alerted));
        })
        .map(({ from, until }) => {
          return `${history.monitor.plan.key} was not DOWN from ${iso(from)} to ${iso(until)}`;
        }),
    );
}
