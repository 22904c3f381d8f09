import { eventsByMonitor } from './check-events.ts';
import type { CampaignRecord, EventFacts, MonitorFacts, Violation } from './record.ts';

/** A result without a slot was recorded so long after its check at most. */
const RECORDED_WITHIN_MS = 60_000;
/** A target that took so long was held by a fault. */
const HELD_MS = 1_000;
/** A lookup that began before names resolved again ends by then, and the check that waits for it. */
const NAMES_AFTER_MS = 15_000;
/** A check that was under way in a frozen checker ends by then. */
const THAWED_AFTER_MS = 5_000;

const at = (time: number): string => new Date(time).toISOString();

/**
 * Each check that failed without an answer is explained by its target, by names that did not resolve, or by a checker that was frozen:
 * not by what else the checker had to do.
 */
export function unexplainedFailures(record: CampaignRecord): Violation[] {
  const events = eventsByMonitor(record);
  return record.monitors.flatMap((monitor) => {
    const visits = record.answers.filter(({ key }) => key === monitor.plan.key);
    return (events.get(monitor.id) ?? [])
      .filter(({ status, statusCode }) => status === 'DOWN' && statusCode === null)
      .filter((event) => {
        const from = event.slot ?? event.timestamp - RECORDED_WITHIN_MS;
        const isFailing = visits.some(
          (visit) =>
            visit.at >= from &&
            visit.at <= event.timestamp &&
            (visit.answeredAt === null || visit.answeredAt - visit.at > HELD_MS),
        );
        return !isFailing && !isFaultOf(record, monitor, event, from);
      })
      .map(({ errorReason, region, timestamp }) => ({
        invariant: 'every failure has a cause',
        detail: `${monitor.plan.key}: ${errorReason} from ${region} at ${at(timestamp)}, and neither its target nor a fault explains it`,
      }));
  });
}

function isFaultOf(
  { faults, replicas }: CampaignRecord,
  { plan }: MonitorFacts,
  event: EventFacts,
  from: number,
): boolean {
  return faults.some(({ name, victim, firedAt, endedAt }) => {
    if (firedAt === null || firedAt > event.timestamp) return false;
    const lastedUntil = endedAt ?? Infinity;
    if (name.startsWith('dns-')) return plan.byName && lastedUntil + NAMES_AFTER_MS >= from;
    if (!name.startsWith('stop-checker-')) return false;
    const region = replicas.find((replica) => replica.name === victim)?.region;
    return region === event.region && lastedUntil + THAWED_AFTER_MS >= from;
  });
}
