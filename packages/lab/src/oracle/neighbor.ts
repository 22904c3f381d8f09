import { GRACE_MS } from './checks.ts';
import { gapsOver, iso } from './history.ts';
import type { FaultRecord, NeighborFacts } from './record.ts';

export function wrongNeighbor(record: FaultRecord): string[] {
  const wrong = record.neighbor.flatMap((one) =>
    problemsOf(record, one).map((problem) => `${one.plan.key} ${problem}`),
  );
  return [...wrong, ...missingEvidence(record)];
}

function problemsOf(record: FaultRecord, one: NeighborFacts): string[] {
  const { id, plan, visits, eventTimestamps, upEvents, deliveries } = one;
  const { kind } = plan;
  const events = eventTimestamps.length;
  const checks = Math.max(visits.length, events);
  // Lookups of a redirecting monitor may wait because its names hang, so some of its checks may be missed as throttled.
  const isIdle = (kind === 'poison' && visits.length === 0) || (kind === 'redirecting' && events === 0);
  const problems: readonly [isWrong: boolean, problem: string][] = [
    [deliveries > 0, 'has deliveries to channels of another account'],
    [record.shown.has(id), 'is shown to another account'],
    [kind === 'unreadable' && checks > 0, `was checked ${checks} times without its headers`],
    [isIdle, 'was never checked'],
    [kind === 'poison' && events > 0, `has ${events} events that Postgres refused`],
    [upEvents > 0, `was UP ${upEvents} times, although none of its checks can pass`],
  ];
  return [
    ...problems.flatMap(([isWrong, problem]) => (isWrong ? [problem] : [])),
    ...(kind === 'silent' ? uncheckedSpans(record, one) : []),
  ];
}

/**
 * After the last fault, the neighbor is checked in time even though its checks use their full timeout, because every account has a share of
 * the capacity.
 */
function uncheckedSpans(
  { lastFaultAt, endedAt }: FaultRecord,
  { plan, eventTimestamps }: NeighborFacts,
): string[] {
  const maxMs = (plan.intervalSeconds + plan.timeoutSeconds) * 1_000 + GRACE_MS;
  const times = [lastFaultAt, ...eventTimestamps.filter((stamp) => stamp > lastFaultAt), endedAt];
  return gapsOver(maxMs, times).map(({ from, until }) => {
    return `had no check for ${Math.round((until - from) / 1_000)} s after ${iso(from)}`;
  });
}

/** A campaign proves nothing unless every checker handled monitors from the neighbor. */
function missingEvidence({ replicas, neighbor, neighborEvidence }: FaultRecord): string[] {
  const { refusals, hungLookups, unreadable } = neighborEvidence;
  const checkers = replicas.filter(({ service }) => service === 'checker');
  const regions = new Set(checkers.flatMap(({ region }) => region ?? []));
  const visited = new Set(
    neighbor.flatMap(({ plan, visits }) => visits.map(({ address }) => `${plan.kind} ${address}`)),
  );
  const kinds = ['redirecting', 'silent', 'poison'];
  const idle = checkers.filter(({ address }) => kinds.some((kind) => !visited.has(`${kind} ${address}`)));
  const withoutLookup = checkers.filter(({ name }) => !hungLookups.get(name));
  const readable = [...regions].filter((region) => !unreadable.get(region));
  return [
    ...idle.map(({ name }) => `${name} did not check all kinds of its monitors`),
    ...(refusals > 0 ? [] : ['Postgres refused none of its results']),
    ...withoutLookup.map(({ name }) => `${name} looked up no name that hangs`),
    ...readable.map((region) => `no checker of ${region} skipped an unreadable monitor`),
  ];
}
