import { gapsOf } from './checks.ts';
import { iso } from './history.ts';
import type { FaultRecord, NeighborFacts } from './record.ts';

/** The grace time of the other monitors. The timeout is added, because these checks use all of it. */
const GRACE_MS = 15_000;

export function wrongNeighbor(record: FaultRecord): string[] {
  const wrong = record.neighbor.flatMap((one) =>
    problemsOf(record, one).map((problem) => `${one.plan.key} ${problem}`),
  );
  return [...wrong, ...missingEvidence(record)];
}

function problemsOf(record: FaultRecord, one: NeighborFacts): string[] {
  const { id, plan, visits, eventTimestamps, upEvents } = one;
  const problems: string[] = [];
  if (one.deliveries > 0) problems.push('has deliveries to channels of another account');
  if (record.shown.has(id)) problems.push('is shown to another account');
  switch (plan.kind) {
    case 'unreadable': {
      const checks = Math.max(visits.length, eventTimestamps.length);
      if (checks > 0) problems.push(`was checked ${checks} times without its headers`);
      break;
    }
    case 'poison':
      if (visits.length === 0) problems.push('was never checked');
      if (eventTimestamps.length > 0)
        problems.push(`has ${eventTimestamps.length} events that Postgres refused`);
      break;
    case 'redirecting':
      // Its lookups wait for each other because its names hang, so checks may be missed as throttled.
      if (eventTimestamps.length === 0) problems.push('was never checked');
      break;
    case 'silent':
      problems.push(...uncheckedSpans(record, one));
  }
  if (upEvents > 0) problems.push(`was UP ${upEvents} times, although none of its checks can pass`);
  return problems;
}

/** After the last fault the neighbor is checked in time, because every account has a share. */
function uncheckedSpans(
  { lastFaultAt, endedAt }: FaultRecord,
  { plan, eventTimestamps }: NeighborFacts,
): string[] {
  const maxMs = (plan.intervalSeconds + plan.timeoutSeconds) * 1_000 + GRACE_MS;
  return gapsOf([lastFaultAt, ...eventTimestamps.filter((stamp) => stamp > lastFaultAt), endedAt])
    .filter(({ ms }) => ms > maxMs)
    .map(({ ms, from }) => `had no check for ${Math.round(ms / 1_000)} s after ${iso(from)}`);
}

/** A campaign proves nothing unless every checker handled monitors of the neighbor. */
function missingEvidence({ replicas, neighbor, neighborEvidence }: FaultRecord): string[] {
  const { refusals, hungLookups, unreadable } = neighborEvidence;
  const checkers = replicas.filter(({ service }) => service === 'checker');
  const regions = new Set(checkers.flatMap(({ region }) => region ?? []));
  const visited = new Set(
    neighbor.flatMap(({ plan, visits }) => visits.map(({ address }) => `${plan.kind} ${address}`)),
  );
  const isIdle = ({ address }: { readonly address: string }): boolean =>
    !['redirecting', 'silent', 'poison'].every((kind) => visited.has(`${kind} ${address}`));
  const withoutLookup = checkers.filter(({ name }) => !hungLookups.get(name));
  const readable = [...regions].filter((region) => !unreadable.get(region));
  return [
    ...checkers.filter(isIdle).map(({ name }) => `${name} did not check all kinds of its monitors`),
    ...(refusals > 0 ? [] : ['Postgres refused none of its results']),
    ...withoutLookup.map(({ name }) => `${name} looked up no name that hangs`),
    ...readable.map((region) => `no checker of ${region} skipped an unreadable monitor`),
  ];
}
