import type { CampaignRecord, NeighbourFacts, Violation } from './record.ts';

/** As for the campaign's own monitors (`check-events.ts`); a check that fails takes its whole timeout. */
const GRACE_MS = 15_000;

const at = (time: number): string => new Date(time).toISOString();

/** The neighbour is checked as it should be, by every checker, and nobody else sees anything of it. */
export function wrongNeighbour(record: CampaignRecord): Violation[] {
  const { neighbour, shown } = record;
  const wrong = neighbour.flatMap((one) => complaintsAbout(record, one));
  const leaked = neighbour.flatMap(({ id, plan, deliveries }) => {
    if (deliveries > 0) return [`${plan.key} has deliveries to channels of another account`];
    return shown.has(id) ? [`${plan.key} is shown to another account`] : [];
  });
  return [...wrong, ...leaked, ...unmetCheckers(record), ...unmetTroubles(record)].map((detail) => ({
    invariant: 'the neighbour keeps to itself',
    detail,
  }));
}

function complaintsAbout(record: CampaignRecord, one: NeighbourFacts): string[] {
  const { key, kind } = one.plan;
  const { visits, eventStamps } = one;
  switch (kind) {
    case 'unreadable':
      return visits.length + eventStamps.length === 0
        ? []
        : [`${key} was checked ${Math.max(visits.length, eventStamps.length)} times without its headers`];
    case 'poison':
      if (visits.length === 0) return [`${key} was never checked`];
      return eventStamps.length === 0
        ? []
        : [`${key} has ${eventStamps.length} events that Postgres refused`];
    case 'redirecting':
      // Its names hang, so its lookups wait for each other: a check may be missed as throttled.
      return [...neverUp(one), ...(eventStamps.length > 0 ? [] : [`${key} was never checked`])];
    case 'silent':
      return [...neverUp(one), ...unchecked(record, one)];
  }
}

function neverUp({ plan, upEvents }: NeighbourFacts): string[] {
  return upEvents === 0 ? [] : [`${plan.key} was UP ${upEvents} times, and its target never answers`];
}

/** After the last fault it is checked in time: it has a share too. */
function unchecked(
  { lastFaultAt, endedAt }: CampaignRecord,
  { plan, eventStamps }: NeighbourFacts,
): string[] {
  const mostMs = (plan.intervalSeconds + plan.timeoutSeconds) * 1_000 + GRACE_MS;
  const marks = [lastFaultAt, ...eventStamps.filter((stamp) => stamp > lastFaultAt), endedAt];
  return marks.slice(1).flatMap((mark, index) => {
    const from = marks[index] ?? mark;
    if (mark - from <= mostMs) return [];
    return [`${plan.key} had no check for ${Math.round((mark - from) / 1_000)} s after ${at(from)}`];
  });
}

/** A checker that did not meet the neighbour proves nothing. */
function unmetCheckers({ replicas, neighbour }: CampaignRecord): string[] {
  return replicas
    .filter(({ service }) => service === 'checker')
    .filter(({ address }) =>
      (['redirecting', 'silent', 'poison'] as const).some(
        (kind) =>
          !neighbour.some(
            (one) => one.plan.kind === kind && one.visits.some((visit) => visit.address === address),
          ),
      ),
    )
    .map(({ name }) => `${name} did not check all kinds of its monitors`);
}

/** Neither does one of which nothing went wrong. */
function unmetTroubles({ replicas, neighbourMet }: CampaignRecord): string[] {
  const { refusals, hungLookups, unreadable } = neighbourMet;
  const checkers = replicas.filter(({ service }) => service === 'checker');
  const regions = [...new Set(checkers.flatMap(({ region }) => region ?? []))];
  return [
    ...(refusals > 0 ? [] : ['Postgres refused none of its results']),
    ...checkers
      .filter(({ name }) => !hungLookups.get(name))
      .map(({ name }) => `${name} asked for no name that hangs`),
    ...regions
      .filter((region) => !unreadable.get(region))
      .map((region) => `no checker of ${region} met a monitor that cannot be read`),
  ];
}
