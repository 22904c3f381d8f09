import { idleSteady } from './coverage.ts';
import { repeatedReceipts } from './deliveries.ts';
import { groupBy } from './history.ts';
import type { Check, SteadyRecord } from './record.ts';

/** A service terminates itself after this time. */
const STOP_WITHIN_MS = 30_000;

/** Without faults, everything happens exactly once. */
export const STEADY_CHECKS: readonly Check<SteadyRecord>[] = [
  ['the run has something to lose', idleSteady],
  ['every planned check is recorded once', wrongSlots],
  ['every request is one event', wrongEventCounts],
  ['every webhook is sent once', ({ failedAttempts }) => failedAttempts.map((error) => `failed: ${error}`)],
  ['every webhook is sent once', repeatedReceipts],
  ['the live stream has every event', ({ notStreamed }) => notStreamed.map((id) => `event ${id} is missing`)],
  ['the live stream has every event', brokenStreams],
  ['API calls get their response', ({ api }) => [...api.broken, ...api.unexpected]],
  ['services stop cleanly', wrongStops],
  ['the logs have no errors', ({ logErrors }) => [...logErrors]],
  ['no job stalls', stalledJobs],
  ['nothing grows', ({ growing }) => growing.map((name) => `${name} grows`)],
];

function wrongSlots({ slots: { planned, checked, events }, misses }: SteadyRecord): string[] {
  const missed = `the checkers counted ${JSON.stringify(misses)}`;
  return wrongCounts([
    [planned - checked, `planned checks were missed; ${missed}`],
    [events - checked, 'events repeat a planned check'],
  ]);
}

function wrongCounts(counts: readonly (readonly [count: number, what: string])[]): string[] {
  return counts.filter(([count]) => count !== 0).map(([count, what]) => `${count} ${what}`);
}

/**
 * Each monitor has exactly as many events as its target had requests, and at most as many of each kind as there were responses of that
 * kind.
 */
function wrongEventCounts({ all, visits, eventCounts }: SteadyRecord): string[] {
  const requests = groupBy(visits, ({ key }) => key);
  return all.flatMap(({ id, key }) => {
    const own = requests.get(key) ?? [];
    const failures = own.filter(({ state }) => state === 'down').length;
    const events = eventCounts.get(id) ?? { all: 0, passed: 0, failed: 0 };
    const what = `${key} (${id}) had ${own.length} requests, ${failures} of them with 500`;
    const isSame = own.length === events.all;
    if (isSame && events.failed <= failures && events.passed <= own.length - failures) return [];
    return [`${what}, and has ${events.all} events: ${events.passed} with 200, ${events.failed} with 500`];
  });
}

function brokenStreams({ stream, restarts }: SteadyRecord): string[] {
  return wrongCounts([
    // An api that is shutting down accepts no streams.
    [restarts === 0 ? stream.unavailable : 0, 'streams were refused with 503'],
    [stream.broken, 'streams broke'],
    [stream.unexpected, 'streams had an unexpected status'],
    [stream.resets, 'times a stream was reset'],
  ]);
}

function wrongStops({ stops }: SteadyRecord): string[] {
  return stops.flatMap(({ name, exitCode, stopMs }) => [
    ...(exitCode === 0 ? [] : [`${name} ended with ${exitCode}`]),
    ...(stopMs <= STOP_WITHIN_MS ? [] : [`${name} took ${Math.round(stopMs / 1_000)} s to stop`]),
  ]);
}

function stalledJobs({ stalls }: SteadyRecord): string[] {
  if (stalls === null) return [];
  return [
    ...stalls.stalled.map((job) => `${job} stalled`),
    ...stalls.silent.map((queue) => `${queue} has no event`),
    ...wrongCounts([[stalls.unseen, 'events of the queues were trimmed']]),
  ];
}
