import { gapsOf } from './checks.ts';
import { iso } from './history.ts';
import type { CampaignRecord, NeighbourFacts } from './record.ts';

/** As for the campaign's own monitors; a check that fails takes its whole timeout. */
const GRACE_MS = 15_000;

/** The neighbour is checked as it should be, by every checker, and visible to no other account. */
export function wrongNeighbour(record: CampaignRecord): string[] {
  const { neighbour, shown } = record;
  const leaked = neighbour.flatMap(({ id, plan, deliveries }) => {
    if (deliveries > 0) return [`${plan.key} has deliveries to channels of another account`];
    return shown.has(id) ? [`${plan.key} is shown to another account`] : [];
  });
  const wrong = neighbour.flatMap((one) =>
    problemsOf(record, one).map((problem) => `${one.plan.key} ${problem}`),
  );
  return [...wrong, ...leaked, ...missingEvidence(record)];
}

function problemsOf(record: CampaignRecord, one: NeighbourFacts): string[] {
  const { visits, eventStamps, upEvents } = one;
  const isUp = upEvents === 0 ? [] : [`was UP ${upEvents} times, and its target never responds`];
  switch (one.plan.kind) {
    case 'unreadable': {
      const checks = Math.max(visits.length, eventStamps.length);
      return checks === 0 ? [] : [`was checked ${checks} times without its headers`];
    }
    case 'poison':
      if (visits.length === 0) return ['was never checked'];
      return eventStamps.length === 0 ? [] : [`has ${eventStamps.length} events that Postgres refused`];
    case 'redirecting':
      // Its names hang, so its lookups wait for each other: a check may be missed as throttled.
      return [...isUp, ...(eventStamps.length > 0 ? [] : ['was never checked'])];
    case 'silent':
      return [...isUp, ...uncheckedSpans(record, one)];
  }
}

/** After the last fault it is checked in time: it has a share too. */
function uncheckedSpans(
  { lastFaultAt, endedAt }: CampaignRecord,
  { plan, eventStamps }: NeighbourFacts,
): string[] {
  const maxMs = (plan.intervalSeconds + plan.timeoutSeconds) * 1_000 + GRACE_MS;
  return gapsOf([lastFaultAt, ...eventStamps.filter((stamp) => stamp > lastFaultAt), endedAt])
    .filter(({ ms }) => ms > maxMs)
    .map(({ ms, from }) => `had no check for ${Math.round(ms / 1_000)} s after ${iso(from)}`);
}

/** A campaign proves nothing about the neighbour unless every checker met it. */
function missingEvidence({ replicas, neighbour, neighbourMet }: CampaignRecord): string[] {
  const { refusals, hungLookups, unreadable } = neighbourMet;
  const checkers = replicas.filter(({ service }) => service === 'checker');
  const regions = [...new Set(checkers.flatMap(({ region }) => region ?? []))];
  const isVisited = (kind: string, from: string): boolean =>
    neighbour.some(
      ({ plan, visits }) => plan.kind === kind && visits.some(({ address }) => address === from),
    );
  return [
    ...checkers
      .filter(({ address }) => !['redirecting', 'silent', 'poison'].every((kind) => isVisited(kind, address)))
      .map(({ name }) => `${name} did not check all kinds of its monitors`),
    ...(refusals > 0 ? [] : ['Postgres refused none of its results']),
    ...checkers
      .filter(({ name }) => !hungLookups.get(name))
      .map(({ name }) => `${name} looked up no name that hangs`),
    ...regions
      .filter((region) => !unreadable.get(region))
      .map((region) => `no checker of ${region} met an unreadable monitor`),
  ];
}
