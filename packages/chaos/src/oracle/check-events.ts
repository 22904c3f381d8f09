import type { CampaignRecord, EventFacts, MonitorFacts, Violation } from './record.ts';

/** A result is recorded so long after its target answered at most: a frozen checker, and then a Postgres that is away. */
const RECORDED_WITHIN_MS = 60_000;
/** A monitor may be unchecked for so much longer than its interval (design §4 "Slot"). */
const GRACE_MS = 15_000;

const at = (time: number): string => new Date(time).toISOString();

/** The events of each monitor in the order of their stamps. */
export function eventsByMonitor({ database }: CampaignRecord): Map<string, EventFacts[]> {
  const events = new Map<string, EventFacts[]>();
  for (const event of database.events.toSorted((one, other) => one.timestamp - other.timestamp)) {
    const list = events.get(event.monitorId);
    if (list) list.push(event);
    else events.set(event.monitorId, [event]);
  }
  return events;
}

/**
 * Each event that says what a target answered has an answer of its own: one that the target gave not long before, and that stands
 * for no other event.
 */
export function unfoundedEvents(record: CampaignRecord): Violation[] {
  const events = eventsByMonitor(record);
  return record.monitors.flatMap((monitor) => {
    const answers = record.answers.filter(({ key }) => key === monitor.plan.key);
    const list = events.get(monitor.id) ?? [];
    return (['up', 'down'] as const).flatMap((state) => {
      const free = answers.filter((answer) => answer.state === state).map((answer) => answer.at);
      const code = state === 'up' ? 200 : 500;
      return list
        .filter(({ statusCode, url }) => statusCode === code && url === null)
        .filter(({ timestamp }) => {
          const index = free.findIndex((time) => time <= timestamp && time > timestamp - RECORDED_WITHIN_MS);
          if (index >= 0) free.splice(index, 1);
          return index < 0;
        })
        .map((event) => ({
          invariant: 'every event is a check',
          detail: `${monitor.plan.key}: the event of ${at(event.timestamp)} says ${code}, which its target answered to nobody else before`,
        }));
    });
  });
}

/** A slot of a monitor in a region is recorded once. */
export function repeatedSlots({ database }: CampaignRecord): Violation[] {
  const seen = new Set<string>();
  return database.events.flatMap(({ monitorId, region, slot, id }) => {
    if (slot === null) return [];
    const key = `${monitorId} ${region} ${slot}`;
    if (!seen.has(key)) {
      seen.add(key);
      return [];
    }
    return [
      { invariant: 'a slot counts once', detail: `event ${id} repeats the slot ${at(slot)} of ${key}` },
    ];
  });
}

/**
 * The longest time since the last fault for which a region of a monitor had no check, by monitor and region, milliseconds. A check
 * is one that the schedule asked for and that reached its target, which answered, reset or hung.
 */
export function uncheckedSpans(
  record: CampaignRecord,
): { monitor: MonitorFacts; region: string; ms: number; from: number }[] {
  const events = eventsByMonitor(record);
  const { lastFaultAt, endedAt } = record;
  const silent = record.answers.filter(({ answeredAt }) => answeredAt === null);
  return record.monitors
    .filter(({ deletedAt }) => deletedAt === null)
    .flatMap((monitor) => {
      const visits = silent.filter(({ key }) => key === monitor.plan.key).map((answer) => answer.at);
      const isMet = ({ statusCode, slot, timestamp }: EventFacts): boolean =>
        statusCode !== null || visits.some((visit) => visit >= (slot ?? timestamp) && visit <= timestamp);
      return monitor.plan.regions.map((region) => {
        const stamps = (events.get(monitor.id) ?? [])
          .filter((event) => event.region === region && event.timestamp > lastFaultAt)
          .filter((event) => event.source === 'schedule' && isMet(event))
          .map(({ timestamp }) => timestamp);
        const marks = [Math.max(lastFaultAt, monitor.createdAt), ...stamps, endedAt];
        const spans = marks.slice(1).map((mark, index) => ({ ms: mark - (marks[index] ?? mark), index }));
        const longest = spans.reduce((one, other) => (other.ms > one.ms ? other : one));
        return { monitor, region, ms: longest.ms, from: marks[longest.index] ?? lastFaultAt };
      });
    });
}

/** After the last fault no monitor is unchecked for longer than its interval and 15 s. */
export function longUnchecked(record: CampaignRecord): Violation[] {
  return uncheckedSpans(record)
    .filter(({ monitor, ms }) => ms > monitor.plan.intervalSeconds * 1_000 + GRACE_MS)
    .map(({ monitor, region, ms, from }) => ({
      invariant: 'no monitor stays unchecked',
      detail: `${monitor.plan.key} (every ${monitor.plan.intervalSeconds} s) had no check from ${region} for ${Math.round(ms / 1_000)} s after ${at(from)}; the last fault was over at ${at(record.lastFaultAt)}`,
    }));
}

/** Who polls with `since` gets each event once, in order, and misses none. */
export function brokenTails(record: CampaignRecord): Violation[] {
  const events = eventsByMonitor(record);
  return record.monitors
    .filter(({ deletedAt }) => deletedAt === null)
    .flatMap((monitor) => {
      const stored = (events.get(monitor.id) ?? []).map(({ id }) => id);
      const tailed = record.tails.get(monitor.id) ?? [];
      const until = tailed.length === 0 ? 0 : stored.indexOf(tailed.at(-1) ?? '') + 1;
      const expected = stored.slice(0, until);
      if (tailed.length > 0 && tailed.join() === expected.join() && until === stored.length) return [];
      const missing = stored.filter((id) => !tailed.includes(id)).length;
      const twice = tailed.length - new Set(tailed).size;
      return [
        {
          invariant: 'tailing misses and repeats nothing',
          detail: `${monitor.plan.key}: ${tailed.length} events came, ${stored.length} are stored; ${missing} missing, ${twice} twice`,
        },
      ];
    });
}
