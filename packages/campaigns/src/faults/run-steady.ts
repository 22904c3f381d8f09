import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { seenBefore, until } from '@tocsin/embedded/testing/until';
import { bearer } from '@tocsin/lab/api-client';
import { say } from '@tocsin/lab/command';
import { openSession } from '@tocsin/lab/dashboard-session';
import type { Replica } from '@tocsin/lab/faults/replica';
import { openScene, replicasOf, type Scene } from '@tocsin/lab/faults/scene';
import { ApiClients } from '@tocsin/lab/load/api-clients';
import { createWorld } from '@tocsin/lab/load/requests';
import { untilDelivered, untilFinal } from '@tocsin/lab/load/settle';
import { keepEvents, readStalls } from '@tocsin/lab/load/stalls';
import { StreamClient } from '@tocsin/lab/load/stream-client';
import { planSteadyWorld } from '@tocsin/lab/load/world-plan';
import { untilChecked } from '@tocsin/lab/monitors';
import { readDatabase } from '@tocsin/lab/oracle/read-database';
import type { Evidence, SteadyRecord } from '@tocsin/lab/oracle/record';
import { Random } from '@tocsin/lab/random';
import { SERVICE_NAMES } from '@tocsin/lab/service-process';
import { countSlots } from '@tocsin/lab/slots';
import { describeTimes, type Row } from '../report.ts';
import { HEAP_OPTIONS, sampleFor, trendsOf, type NamedTrend } from './memory.ts';

interface SteadyOptions {
  readonly seed: number;
  /** Minimum length of a run without restarts. */
  readonly minutes: number;
  readonly restarts: number;
  readonly rate: number;
}

/** Some responses are late, so that requests are always under way. */
const LATE = { share: 0.1, maxMs: 800 } as const;
const MAX_RECEIVER_MS = 600;
/** A run without restarts creates enough monitors that a leak of 1 KB per monitor would not count as flat. */
const CREATED_PER_SECOND = { restarts: 2, watched: 5 } as const;
const MAX_PAUSE_MS = 1_000;
const RESTARTED_WITHIN_MS = 60_000;
const MISSES = /^tocsin_checks_missed_total\{.*reason="(\w+)"\} (\d+)$/gm;

interface Load {
  readonly options: SteadyOptions;
  readonly scene: Scene;
  readonly clients: ApiClients;
  readonly stream: StreamClient;
  /** Ids of all records on the live stream. */
  readonly streamed: ReadonlySet<string>;
  readonly misses: Record<string, number>;
  readonly stops: SteadyRecord['stops'][number][];
}

/** Runs a system under a steady load and restarts each service gracefully. The teardown removes the logs. */
export async function runSteady(
  options: SteadyOptions,
  teardown: Teardown,
): Promise<{ readonly record: SteadyRecord; readonly logs: string; readonly rows: readonly Row[] }> {
  say('Starting a system …');
  const load = await startLoad(options, teardown);
  const { scene } = load;
  const startedAt = Date.now();
  scene.schedule.startedAt = startedAt;
  const { restarts, minutes } = options;
  say(restarts > 0 ? 'Restarting services under load …' : 'Watching memory under load …');
  if (restarts > 0) await restartServices(load);
  const samples = restarts > 0 ? [] : await sampleFor(scene, minutes * 60_000);
  const trends = trendsOf(samples, minutes);
  const record = await finish(load, startedAt, trends);
  return { record, logs: scene.system.folder, rows: rowsOf(record, trends) };
}

async function startLoad(options: SteadyOptions, teardown: Teardown): Promise<Load> {
  const { seed, restarts, rate, minutes } = options;
  const random = new Random(seed, 'delays');
  const world = planSteadyWorld(seed, rate, (minutes + restarts) * 60_000);
  const scene = await openScene(world, {
    teardown,
    steady: {
      targetDelayMs: () => (random.chance(LATE.share) ? random.next() * LATE.maxMs : 0),
      receiverDelayMs: () => random.next() * MAX_RECEIVER_MS,
      nodeOptions: restarts > 0 ? [] : HEAP_OPTIONS,
      // The kept events would look like a leak.
      prepare: async (stores) => (restarts > 0 ? stores.withRedis(keepEvents) : undefined),
    },
  });
  say(`Creating ${world.monitors.length} monitors …`);
  await createWorld(scene, world, '127.0.0.1');
  const { system, targets, registry } = scene;
  const apis = replicasOf(scene, 'api');
  const streamed = new Set<string>();
  const { request } = await openSession({ port: apis[0]?.port ?? 0 });
  const stream = new StreamClient(request, (id) => streamed.add(id));
  const headers = bearer(system.apiKey);
  const clients = new ApiClients({
    targets: apis.map(({ port }) => ({ baseUrl: `http://127.0.0.1:${port}`, headers })),
    seed,
    createdPerSecond: CREATED_PER_SECOND[restarts > 0 ? 'restarts' : 'watched'],
    // After an edit, the result of a running check does not count, so flapping monitors are not edited.
    monitorIds: registry.monitors.filter(({ plan }) => plan.turns.length === 0).map(({ id }) => id),
    targetUrl: targets.url('short-lived'),
  });
  teardown.onStop(() => Promise.all([clients.stop(), stream.stop()]));
  await until('the live stream to open', () => stream.tally.opened > 0);
  return { options, scene, clients, stream, streamed, misses: {}, stops: [] };
}

async function restartServices(load: Load): Promise<void> {
  const { scene, options } = load;
  const random = new Random(options.seed, 'restarts');
  for (let time = 0; time < options.restarts; time += 1) {
    for (const service of SERVICE_NAMES) {
      const replicas = replicasOf(scene, service);
      const replica = replicas[time % replicas.length];
      if (replica === undefined) continue;
      await wait(random.next() * MAX_PAUSE_MS);
      await stop(load, replica, () => replica.replace('SIGTERM'));
      const isBack = await seenBefore(Date.now() + RESTARTED_WITHIN_MS, () => replica.isReady);
      if (isBack === null) throw new Error(`${replica.name} did not start again`);
    }
  }
}

async function stop(
  { misses, stops }: Load,
  replica: Replica,
  end: () => Promise<number | null>,
): Promise<void> {
  for (const [, reason = '', count] of (await replica.metrics()).matchAll(MISSES)) {
    misses[reason] = (misses[reason] ?? 0) + Number(count);
  }
  const signalledAt = performance.now();
  const exitCode = await end();
  stops.push({ name: replica.name, exitCode, stopMs: performance.now() - signalledAt });
}

/** Ends the load, shuts down all services once everything is recorded and delivered, and reads what was recorded. */
async function finish(load: Load, startedAt: number, trends: readonly NamedTrend[]): Promise<SteadyRecord> {
  const { scene, clients, stream } = load;
  const { registry, schedule, stores, targets, receivers, system } = scene;
  const endedAt = Date.now();
  const all = registry.monitors.map(({ id, plan }) => ({ id, key: plan.key }));
  const flapping = registry.monitors.filter(({ plan }) => plan.turns.length > 0);
  const ids = all.map(({ id }) => id);
  await untilChecked(system, endedAt, ids);
  await clients.stop();
  schedule.isFinal = true;
  await untilFinal(scene);
  const end = (replica: Replica): Promise<void> => stop(load, replica, () => replica.end('SIGTERM'));
  for (const replica of replicasOf(scene, 'checker')) await end(replica);
  // Without checks, no more webhooks become due.
  await untilDelivered(stores);
  await stream.stop();
  for (const replica of [...replicasOf(scene, 'notifier'), ...replicasOf(scene, 'api')]) await end(replica);
  const evidence: Evidence = {
    seed: load.options.seed,
    startedAt,
    endedAt,
    monitors: flapping,
    channels: registry.channels,
    visits: targets.visits,
    receipts: receivers.receipts,
    strays: receivers.strays,
    database: await readDatabase(stores, { only: flapping.map(({ id }) => id) }),
  };
  return {
    campaign: 'steady',
    ...evidence,
    ...(await readCounts(load, evidence, all)),
    restarts: load.options.restarts,
    all,
    misses: load.misses,
    stops: load.stops,
    api: clients.tally,
    stream: stream.tally,
    logErrors: await readErrors(system.folder),
    stalls: load.options.restarts > 0 ? await stores.withRedis((redis) => readStalls(redis, 'north')) : null,
    growing: trends.filter(({ flat }) => flat === false).map(({ name }) => name),
  };
}

async function readCounts(
  { scene: { stores }, streamed }: Load,
  { startedAt, endedAt, monitors }: Evidence,
  all: SteadyRecord['all'],
): Promise<Pick<SteadyRecord, 'slots' | 'eventCounts' | 'failedAttempts' | 'notStreamed'>> {
  const range = [new Date(startedAt), new Date(endedAt)];
  const ids = all.map(({ id }) => id);
  const intervalMs = (monitors[0]?.plan.intervalSeconds ?? 0) * 1_000;
  const counts = await stores.query<{ id: string; all: number; passed: number; failed: number }>(
    `select monitor_id as id, count(*)::int as all, count(*) filter (where status_code = 200)::int as passed,
       count(*) filter (where status_code = 500)::int as failed
     from events group by monitor_id`,
  );
  const [slots = { events: 0, checked: 0 }] = await stores.query<{ events: number; checked: number }>(
    `select count(*)::int as events, count(distinct (monitor_id, slot))::int as checked
     from events where slot >= $1 and slot < $2 and monitor_id = any($3::uuid[])`,
    [...range, ids],
  );
  const failed = await stores.query<{ error: string }>('select error from attempts where error is not null');
  const stamped = await stores.query<{ id: string }>(
    'select id from events where timestamp >= $1 and timestamp < $2',
    range,
  );
  return {
    slots: { planned: countSlots(ids, intervalMs, { from: startedAt, to: endedAt }), ...slots },
    eventCounts: new Map(counts.map(({ id, ...count }) => [id, count])),
    failedAttempts: failed.map(({ error }) => error),
    notStreamed: stamped.map(({ id }) => id).filter((id) => !streamed.has(id)),
  };
}

/** Returns the log lines that are errors. Lines that the logger did not write, such as a crash of Node.js, count as well. */
async function readErrors(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.log'));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  const lines = texts.flatMap((text) => text.split('\n').filter((line) => line !== ''));
  return lines.filter((line) => !/^\{.*"level":"(debug|info|warn)"/.test(line));
}

function rowsOf(record: SteadyRecord, trends: readonly NamedTrend[]): Row[] {
  const { slots, stops, api, stream } = record;
  return [
    [
      'planned checks; missed; repeated',
      slots.planned,
      slots.planned - slots.checked,
      slots.events - slots.checked,
    ],
    ['API responses; records on the live stream', api.responses, stream.records],
    ['shutdowns; from SIGTERM to the end', stops.length, describeTimes(stops.map(({ stopMs }) => stopMs))],
    ...trends.map(({ name, start, end, most, perHour, flat }): Row => {
      const verdict = flat === null ? 'no verdict' : flat ? 'flat' : 'GROWS';
      const [unit, suffix] = /(files|connections|clients)$/.test(name) ? [1, ''] : [1_000_000, ' MB'];
      const values = [start, end, most, perHour].map((value) => (value / unit).toFixed(1));
      return [`${name}: start, end, most, per hour`, `${values.join(', ')}${suffix}`, verdict];
    }),
  ];
}
