import type { TargetAnswer } from '../world/targets.ts';
import { eventsByMonitor } from './check-events.ts';
import { changesOf, maintainedSpans } from './changes-of.ts';
import type { CampaignRecord, MonitorFacts, Violation } from './record.ts';

/** Answers of one kind that a target gave one after the other: failing is failing, however. */
interface Stretch {
  readonly status: 'UP' | 'DOWN';
  readonly answers: readonly TargetAnswer[];
  readonly from: number;
  readonly to: number;
  /** When the next stretch of its kind begins. */
  readonly nextAt: number;
}

/** A fault may take a result with it, as one that hits a checker does: of so many answers beyond those that decide one is left. */
const SPARE_ANSWERS = 3;
/** A check that is repeated after a fault says no more than the first one. */
const LEAST_SPAN_MS = 8_000;
/** Results that waited for a frozen checker or for Postgres are recorded by then. */
const RECORDED_WITHIN_MS = 30_000;
/** Before a monitor is deleted its last results may wait so long, and then go with it. */
const LAST_RESULTS_MS = 15_000;
/** A schedule that is left over is taken away by then (design §4 "Schedules"), and its last check has ended. */
const STRAY_MS = 20_000;

/**
 * What a target keeps answering is seen: by the status of its monitor where one region decides, else by events. From the log of
 * the targets, whatever the tables say: a result that was dropped has left nothing there to be judged.
 */
export function ignoredAnswers(record: CampaignRecord): Violation[] {
  const answers = new Map<string, TargetAnswer[]>();
  for (const answer of record.answers) {
    const list = answers.get(answer.key);
    if (list) list.push(answer);
    else answers.set(answer.key, [answer]);
  }
  return record.monitors.flatMap((monitor) => {
    const seen = seenIn(record, monitor);
    if (seen === null) return [];
    return stretchesOf(monitor, answers.get(monitor.plan.key) ?? [])
      .filter((stretch) => isLong(monitor, stretch) && !seen(stretch))
      .map(({ status, answers: given, from, to }) => ({
        invariant: 'what targets keep answering is seen',
        detail: `${monitor.plan.key}: ${given.length} answers that say ${status}, from ${at(from)} to ${at(to)}, and nothing shows it`,
      }));
  });
}

const at = (time: number): string => new Date(time).toISOString();

function stretchesOf({ deletedAt }: MonitorFacts, answers: readonly TargetAnswer[]): Stretch[] {
  const until = deletedAt === null ? Infinity : deletedAt - LAST_RESULTS_MS;
  const given = answers.filter((answer) => answer.at < until).toSorted((one, other) => one.at - other.at);
  const runs: TargetAnswer[][] = [];
  for (const answer of given) {
    const run = runs.at(-1);
    if (run?.[0] !== undefined && isUp(run[0]) === isUp(answer)) run.push(answer);
    else runs.push([answer]);
  }
  return runs.flatMap((run, index) => {
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined) return [];
    const nextAt = runs[index + 2]?.[0]?.at ?? Infinity;
    return [{ status: isUp(first) ? 'UP' : 'DOWN', answers: run, from: first.at, to: last.at, nextAt }];
  });
}

function isUp({ state }: TargetAnswer): boolean {
  return state === 'up';
}

function isLong({ plan, thresholds }: MonitorFacts, { status, answers, from, to }: Stretch): boolean {
  const threshold = Math.max(plan.failureThreshold, ...thresholds.map(({ value }) => value));
  const deciding = status === 'DOWN' ? threshold : 1;
  return answers.length >= deciding + SPARE_ANSWERS && to - from >= LEAST_SPAN_MS;
}

/** Whether a stretch has left its mark; null where it need not: the events of a deleted monitor are gone with it. */
function seenIn(record: CampaignRecord, monitor: MonitorFacts): ((stretch: Stretch) => boolean) | null {
  const events = eventsByMonitor(record).get(monitor.id) ?? [];
  const isInEvents = (stretch: Stretch): boolean =>
    events.some(({ timestamp, status }) => status === stretch.status && within(stretch, timestamp));
  // An edit of the URL begins the streaks anew.
  if (monitor.plan.regions.length > 1 || monitor.plan.fate === 'moved')
    return monitor.deletedAt === null ? isInEvents : null;
  const changes = changesOf(record, monitor);
  const maintained = maintainedSpans(changes, events);
  const isCovered = ({ from, nextAt }: Stretch): boolean =>
    maintained.some(({ enteredAt, leftAt }) => enteredAt <= nextAt && (leftAt ?? Infinity) >= from);
  return (stretch) =>
    changes.findLast(({ timestamp }) => timestamp < stretch.from)?.to === stretch.status ||
    changes.some(({ timestamp, to }) => to === stretch.status && within(stretch, timestamp)) ||
    (isCovered(stretch) && isInEvents(stretch));
}

function within({ from, to, nextAt }: Stretch, time: number): boolean {
  return time >= from && time <= Math.min(to + RECORDED_WITHIN_MS, nextAt);
}

/** Nobody goes on asking the target of a monitor that was deleted. */
export function strayChecks({ monitors, answers, lastFaultAt }: CampaignRecord): Violation[] {
  return monitors.flatMap(({ plan, deletedAt }) => {
    if (deletedAt === null) return [];
    const since = Math.max(lastFaultAt, deletedAt) + STRAY_MS;
    const late = answers.filter((answer) => answer.key === plan.key && answer.at > since).length;
    if (late === 0) return [];
    const detail = `${plan.key} was deleted at ${at(deletedAt)}, and its target is asked: ${late} times after ${at(since)}`;
    return [{ invariant: 'what is deleted is checked no more', detail }];
  });
}

/** After the last fault each checker checks and each notifier sends: one that does nothing is hidden by another of its kind. */
export function idleReplicas({ replicas, answers, receipts, lastFaultAt }: CampaignRecord): Violation[] {
  const seen = { api: null, checker: answers, notifier: receipts } as const;
  return replicas.flatMap(({ name, service, address }) => {
    const work = seen[service];
    if (work === null || work.some((one) => one.address === address && one.at > lastFaultAt)) return [];
    return [
      { invariant: 'services recover by themselves', detail: `${name} did nothing after the last fault` },
    ];
  });
}
