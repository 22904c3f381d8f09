import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { findFreePort } from '@tocsin/embedded/ports';
import { clusterFolder } from '@tocsin/embedded/postgres-cluster';
import { openFolder, serverFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { prepareServerFolder } from '@tocsin/embedded/server-folder';
import { useDatabase } from '@tocsin/embedded/start/first-access';
import { ensureRedisForTests } from '@tocsin/embedded/test-run/programs';
import { until } from '@tocsin/embedded/testing/until';
import { ApiClient } from '@tocsin/lab/api-client';
import { runCommand, say } from '@tocsin/lab/command';
import { ADMIN_ENV, PUBLIC_URL } from '@tocsin/lab/dashboard-session';
import { number, type ValuesOf } from '@tocsin/lab/options';
import { Random } from '@tocsin/lab/random';
import { startProgram } from '@tocsin/lab/started-program';
import type { Queries } from '@tocsin/lab/stores';
import { Registry } from './campaign/registry.ts';
import { createWorld } from './campaign/requests.ts';
import { TargetSchedule } from './campaign/target-schedule.ts';
import { untilDelivered } from './load/load-record.ts';
import { repeatedReceipts } from './oracle/deliveries.ts';
import { EVIDENCE_CHECKS, runChecks } from './oracle/find-violations.ts';
import { iso } from './oracle/history.ts';
import { readDatabase } from './oracle/read-database.ts';
import type { Check, Evidence } from './oracle/record.ts';
import { ignoredResponses } from './oracle/stretches.ts';
import { type MonitorPlan, plainMonitor } from './plan/world.ts';
import { describeViolations, keepRecord, markdownTable } from './report.ts';
import { Receivers } from './world/receivers.ts';
import { Targets } from './world/targets.ts';

const OPTIONS = {
  times: number('kills of each store', 10, { min: 1, max: 100 }),
  monitors: number('monitors, each checked every 5 s', 200, { min: 1, max: 2_000 }),
  seed: number('seed of all random choices', 1, { min: 1, max: 2 ** 31 }),
};

const ABOUT =
  'Kills the stores of npm start in turn, and looks for lost and false alerts (docs/reliability.md).';
const CHANNEL = 'receiver';
/** A target keeps its state for between these times, in milliseconds. */
const TURN_MS = [10_000, 35_000] as const;
const TURNS = 400;
/** Before a kill. A store that runs for 5 s counts as stable. */
const PAUSE_MS = [6_000, 12_000] as const;
const RESUME_WITHIN_MS = 10_000;

interface Kill {
  readonly store: 'Redis' | 'PostgreSQL';
  readonly at: number;
  /** Until the first check is recorded that was planned for a later time than the kill, and until each monitor has one. */
  readonly firstMs: number;
  readonly allMs: number;
}

type StoresRecord = Evidence & { readonly kills: readonly Kill[] };

/** @public called by `bootstrap.js` */
export async function main(args: readonly string[]): Promise<void> {
  await runCommand(args, { name: 'test:campaigns -- stores', about: ABOUT, options: OPTIONS, run });
}

async function run({ times, monitors, seed }: ValuesOf<typeof OPTIONS>, teardown: Teardown): Promise<number> {
  ensureRedisForTests(say);
  const random = new Random(seed, 'stores');
  const plans = Array.from({ length: monitors }, (_, index) => planMonitor(random, `monitor-${index}`));
  const schedule = new TargetSchedule(plans);
  const stateOf = (key: string) => schedule.stateOf(key);
  const targets = await teardown.start(Targets.start({ stateOf }), (one) => one.stop());
  const receivers = await teardown.start(Receivers.start({ keys: [CHANNEL] }), (one) => one.stop());
  const { api, stores, pidFiles, logs } = await startProduct(receivers.ca, teardown);
  const registry = new Registry();
  const channels = [{ key: CHANNEL, kind: 'steady', monitors: null } as const];
  await createWorld({ api, registry, receivers, targets }, { monitors: plans, channels }, '127.0.0.1');
  const startedAt = Date.now();
  schedule.startedAt = startedAt;
  const kills: Kill[] = [];
  for (let index = 0; index < 2 * times; index += 1) {
    const store = index % 2 === 0 ? 'Redis' : 'PostgreSQL';
    await wait(random.integer(...PAUSE_MS));
    const kill = await killStore(store, pidFiles[store], stores, monitors);
    kills.push(kill);
    say(rowOf(kill).join('  '));
  }
  schedule.isFinal = true;
  await until('every monitor to be UP', async () => {
    return (await stores.query(`select from monitors where status <> 'UP' limit 1`)).length === 0;
  });
  await untilDelivered(stores);
  const database = await readDatabase(stores, { without: [] });
  const { receipts, strays } = receivers;
  const created = { monitors: registry.monitors, channels: registry.channels };
  const record = { ...created, visits: targets.visits, receipts, strays, database, kills };
  const violations = runChecks(CHECKS, record);
  if (violations.length > 0)
    say(`Logs and record: ${await keepRecord({ seed, startedAt, ...record }, violations, logs)}`);
  say([describe(record), ...describeViolations(violations)].join('\n'));
  return violations.length === 0 ? 0 : 1;
}

function planMonitor(random: Random, key: string): MonitorPlan {
  let atMs = 0;
  const turns = Array.from({ length: TURNS }, (_, index) => {
    atMs += random.integer(...TURN_MS);
    return { atMs, state: index % 2 === 0 ? ('down' as const) : ('up' as const) };
  });
  return { ...plainMonitor(key, 'default'), failureThreshold: random.pick([1, 2]), byName: false, turns };
}

/** Starts the product as `npm start` does, with its own stores. */
async function startProduct(receiverCa: string, teardown: Teardown) {
  const folder = await openFolder('stores', teardown);
  for (const name of ['postgres', 'redis', 'services']) await serverFolder(folder, name, teardown);
  const caFile = join(folder, 'receivers-ca.pem');
  await writeFile(caFile, receiverCa);
  const key = `tocsin_live_${randomBytes(24).toString('hex')}`;
  const port = await findFreePort();
  const start = new URL(import.meta.resolve('@tocsin/embedded/start/main'));
  const { child, printed, ended } = startProgram(start, [], folder, {
    ...ADMIN_ENV,
    PUBLIC_URL,
    TEST_FOLDER: process.env['TEST_FOLDER'],
    PORT: String(port),
    BOOTSTRAP_API_KEY: key,
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    WEBHOOK_CA_FILE: caFile,
    API_RATE_LIMIT_PER_MINUTE: '0',
  });
  teardown.onStop(async () => {
    child.kill('SIGTERM');
    return (await ended).code === 0;
  });
  await printed('Press Ctrl-C to stop');
  if (child.exitCode !== null) throw new Error(`npm start failed: ${(await ended).stderr}`);
  const { path: postgres } = await prepareServerFolder(join(folder, 'postgres'));
  const { path: redis } = await prepareServerFolder(join(folder, 'redis'));
  const read = async (name: string): Promise<string> => (await readFile(join(postgres, name), 'utf8')).trim();
  const url = `postgres://tocsin:${await read('password')}@127.0.0.1:${await read('port')}/tocsin`;
  const query = <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    useDatabase(url, async ({ pool }) => (await pool.query<Row>(text, [...values])).rows);
  const pidFiles = { Redis: join(redis, 'pid'), PostgreSQL: join(clusterFolder(postgres), 'postmaster.pid') };
  const api = new ApiClient([{ port, isReady: true }], key);
  return { api, stores: { query }, pidFiles, logs: join(folder, 'logs') };
}

/** Kills a store, and waits until all monitors are checked again. */
async function killStore(store: Kill['store'], pidFile: string, stores: Queries, monitors: number) {
  const pid = Number.parseInt(await readFile(pidFile, 'utf8'), 10);
  const at = Date.now();
  process.kill(pid, 'SIGKILL');
  const untilChecked = async (count: number): Promise<number> => {
    await until(`${count} monitors to be checked after the kill of ${store}`, async () => {
      const text = 'select from monitor_regions where $1 < any(recent_slots)';
      const checked = await stores.query(text, [at]).catch(() => []);
      return checked.length >= count;
    });
    return Date.now() - at;
  };
  return { store, at, firstMs: await untilChecked(1), allMs: await untilChecked(monitors) };
}

const CHECKS: readonly Check<StoresRecord>[] = [
  ['the run has alerts to lose', idleRun],
  ['checks resume within 10 s', lateResumptions],
  ['every failure is a response of the target', ownFailures],
  ['lasting responses of a target are seen', ignoredResponses],
  ...EVIDENCE_CHECKS,
];

function idleRun({ monitors, database }: StoresRecord): string[] {
  const down = new Set(database.incidents.map(({ monitorId }) => monitorId)).size;
  return 2 * down >= monitors.length ? [] : [`${down} of ${monitors.length} monitors were DOWN`];
}

function lateResumptions({ kills }: StoresRecord): string[] {
  return kills.filter(({ firstMs }) => firstMs > RESUME_WITHIN_MS).map((kill) => rowOf(kill).join(' '));
}

function ownFailures({ database }: StoresRecord): string[] {
  return database.events
    .filter(({ statusCode }) => statusCode === null)
    .map(({ monitorId, timestamp, errorReason }) => `${monitorId} at ${iso(timestamp)}: ${errorReason}`);
}

/** The kills and what was recorded, as tables in Markdown. */
function describe(record: StoresRecord): string {
  const { kills, receipts, database } = record;
  const changes = database.statusChanges.filter(({ webhookEvents }) => webhookEvents.length > 0);
  const received = new Set(receipts.map(({ id }) => id));
  const counts = [changes.length, database.deliveries.length, received.size, repeatedReceipts(record).length];
  return [
    markdownTable(['killed', 'store', 'first check, s', 'every monitor checked, s'], kills.map(rowOf)),
    markdownTable(['status changes', 'webhooks due', 'received', 'received again'], [counts.map(String)]),
  ].join('\n\n');
}

function rowOf({ store, at, firstMs, allMs }: Kill): string[] {
  return [iso(at), store, ...[firstMs, allMs].map((ms) => (ms / 1_000).toFixed(2))];
}
