import { readFile } from 'node:fs/promises';
import { countSlots, type Span } from '@tocsin/lab/slots';
import { until } from '@tocsin/embedded/testing/until';
import { untilChecked } from '@tocsin/lab/monitors';
import type { Queries } from '@tocsin/lab/stores';
import { repeatedReceipts } from '../oracle/deliveries.ts';
import { EVIDENCE_CHECKS, runChecks } from '../oracle/find-violations.ts';
import { groupBy } from '../oracle/history.ts';
import { readBacklog, readDatabase } from '../oracle/read-database.ts';
import type { Check, Evidence, Violation } from '../oracle/record.ts';
import { readStalls } from './stalls.ts';
import { checkerNames, stopService, type Load } from './start-load.ts';

/** What was recorded during a time under load. Its evidence is about the monitors whose target goes up and down. */
export type LoadRecord = Awaited<ReturnType<typeof readLoadRecord>>;

/** How long a service may take to stop. */
const STOP_WITHIN_MS = 30_000;
/** Longer than the first retries of a webhook take. */
const SETTLED_WITHIN_MS = 180_000;

/** Ends the load, shuts all services down once every check is recorded and every webhook is delivered, and reads what was recorded. */
export async function finishLoad(load: Load): Promise<LoadRecord> {
  const to = Date.now();
  const ids = load.monitors.map(({ id }) => id);
  await untilChecked(load.system, to, ids);
  await load.clients.stop();
  for (const name of checkerNames(load.options.checkers)) await stopService(load, name, { restart: false });
  // No more webhooks become due.
  await untilDelivered(load.stores);
  await load.stream.stop();
  for (const name of ['notifier', 'api']) await stopService(load, name, { restart: false });
  return readLoadRecord(load, ids, { from: load.startedAt, to });
}

/** Waits until no webhook is due. */
export async function untilDelivered(stores: Queries): Promise<void> {
  let left = {};
  const isSettled = async (): Promise<boolean> => {
    const pending = await stores.query(`select from deliveries where state = 'pending'`);
    left = { ...(await readBacklog(stores)), pending: pending.length };
    return Object.values(left).every((count) => count === 0);
  };
  await until('every webhook to be delivered', isSettled, SETTLED_WITHIN_MS).catch((error: unknown) => {
    throw new Error(`Work is left: ${JSON.stringify(left)}`, { cause: error });
  });
}

/** @param ids of the monitors that are never deleted @param span the time under load */
async function readLoadRecord(load: Load, ids: readonly string[], span: Span) {
  const { stores, options, flapping } = load;
  const range = [new Date(span.from), new Date(span.to)];
  const counts = await stores.query<{ id: string; all: number; passed: number; failed: number }>(
    `select monitor_id as id, count(*)::int as all, count(*) filter (where status_code = 200)::int as passed,
       count(*) filter (where status_code = 500)::int as failed
     from events group by monitor_id`,
  );
  const [slots] = await stores.query<{ events: number; checked: number }>(
    `select count(*)::int as events, count(distinct (monitor_id, slot))::int as checked
     from events where slot >= $1 and slot < $2 and monitor_id = any($3::uuid[])`,
    [...range, ids],
  );
  if (slots === undefined) throw new TypeError('a count has a row');
  const failed = await stores.query<{ error: string }>('select error from attempts where error is not null');
  const stamped = await stores.query<{ id: string }>(
    'select id from events where timestamp >= $1 and timestamp < $2',
    range,
  );
  const evidence: Evidence = {
    monitors: flapping,
    channels: [load.channel],
    visits: load.targets.visits,
    receipts: load.receivers.receipts,
    strays: load.receivers.strays,
    database: await readDatabase(stores, { only: flapping.map(({ id }) => id) }),
  };
  return {
    ...evidence,
    seed: options.seed,
    seconds: (span.to - span.from) / 1_000,
    /** The monitors that are never deleted. */
    all: load.monitors,
    /** Planned checks of the span: how many there should be, how many have an event, and the number of their events. */
    slots: { planned: countSlots(ids, options.interval * 1_000, span), ...slots },
    /** Missed checks by the reason that the checkers counted. */
    misses: load.misses,
    /** The number of events by monitor: all, with 200, and with 500. */
    eventCounts: new Map(counts.map(({ id, ...count }) => [id, count])),
    /** Errors of attempts. */
    failedAttempts: failed.map(({ error }) => error),
    /** Events of the span that were not on the live stream. */
    notStreamed: stamped.map(({ id }) => id).filter((id) => !load.streamed.has(id)),
    stops: load.stops,
    api: load.clients.tally,
    stream: load.stream.tally,
    logs: await readLogs([...load.services.values()].map(({ logFile }) => logFile)),
    /** Null if the events of the queues were not kept. */
    stalls: options.findsStalls ? await stores.withRedis(readStalls) : null,
  };
}

/** Lines of the logs that need attention. */
async function readLogs(files: readonly string[]): Promise<{ errors: string[]; warnings: string[] }> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  const lines = texts.flatMap((text) => text.split('\n').filter((line) => line !== ''));
  return {
    errors: lines.filter((line) => !['debug', 'info', 'warn'].includes(levelOf(line))),
    warnings: lines.filter((line) => levelOf(line) === 'warn'),
  };
}

/** Lines that the logger did not write, such as a crash of Node, are errors. */
function levelOf(line: string): string {
  try {
    return String((JSON.parse(line) as { level?: unknown }).level);
  } catch {
    return 'error';
  }
}

/** What must hold under load: everything happens exactly once. */
const LOAD_CHECKS: readonly Check<LoadRecord>[] = [
  ['the run has something to lose', idleRun],
  ['every planned check is recorded once', wrongSlots],
  ['every request is one event', wrongEventCounts],
  ['every webhook is sent once', ({ failedAttempts }) => failedAttempts.map((error) => `failed: ${error}`)],
  ['every webhook is sent once', repeatedReceipts],
  ['the live stream has every event', ({ notStreamed }) => notStreamed.map((id) => `event ${id} is missing`)],
  ['the live stream has every event', brokenStreams],
  ['API calls get their response', ({ api }) => [...api.broken, ...api.unexpected]],
  ['services stop cleanly', wrongStops],
  ['the logs have no errors', ({ logs }) => [...logs.errors]],
  ['no job stalls', stalledJobs],
];

/** The violations of a run under load. */
export function findLoadViolations(record: LoadRecord): Violation[] {
  return [...runChecks(LOAD_CHECKS, record), ...runChecks(EVIDENCE_CHECKS, record)];
}

function idleRun({ slots, eventCounts, database, receipts, api, stream }: LoadRecord): string[] {
  const changes = database.statusChanges.filter(({ webhookEvents }) => webhookEvents.length > 0);
  const needed = {
    'planned checks': slots.planned,
    events: eventCounts.size,
    'status changes': changes.length,
    webhooks: receipts.length,
    'API calls': api.responses,
    'records on the live stream': stream.records,
  };
  return Object.entries(needed).flatMap(([what, count]) => (count === 0 ? [`there were no ${what}`] : []));
}

function wrongSlots({ slots: { planned, checked, events }, misses }: LoadRecord): string[] {
  return [
    ...(planned === checked
      ? []
      : [`${planned - checked} planned checks were missed; the checkers counted ${JSON.stringify(misses)}`]),
    ...(events === checked ? [] : [`${events - checked} events repeat a planned check`]),
  ];
}

/** Each monitor has as many events as its target had requests, and no more of a kind than it had responses of that kind. */
function wrongEventCounts({ all, visits, eventCounts }: LoadRecord): string[] {
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

function brokenStreams({ stream }: LoadRecord): string[] {
  return [
    ...(stream.broken === 0 ? [] : [`${stream.broken} streams broke`]),
    ...(stream.unexpected === 0 ? [] : [`${stream.unexpected} streams had an unexpected status`]),
    ...(stream.resets === 0 ? [] : [`${stream.resets} times a stream was reset`]),
  ];
}

function wrongStops({ stops }: LoadRecord): string[] {
  return stops.flatMap(({ name, exitCode, stopMs }) => [
    ...(exitCode === 0 ? [] : [`${name} ended with ${exitCode}`]),
    ...(stopMs <= STOP_WITHIN_MS ? [] : [`${name} took ${Math.round(stopMs / 1_000)} s to stop`]),
  ]);
}

function stalledJobs({ stalls }: LoadRecord): string[] {
  if (stalls === null) return [];
  return [
    ...stalls.stalled.map((job) => `${job} stalled`),
    ...stalls.silent.map((queue) => `${queue} has no event`),
    ...(stalls.unseen === 0 ? [] : [`${stalls.unseen} events of the queues were trimmed`]),
  ];
}
