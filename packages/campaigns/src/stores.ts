import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { clusterFolder } from '@tocsin/embedded/postgres-cluster';
import { openFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { prepareServerFolder } from '@tocsin/embedded/server-folder';
import { useDatabase } from '@tocsin/embedded/start/first-access';
import { ensureRedisForTests } from '@tocsin/embedded/test-run/programs';
import { until } from '@tocsin/embedded/testing/until';
import { runCommand, say } from '@tocsin/lab/command';
import { Registry } from '@tocsin/lab/load/registry';
import { createWorld } from '@tocsin/lab/load/requests';
import { untilDelivered, untilFinal } from '@tocsin/lab/load/settle';
import { plainMonitor, type ChannelPlan, type MonitorPlan } from '@tocsin/lab/load/world-plan';
import { readDatabase } from '@tocsin/lab/oracle/read-database';
import type { StoreKill, StoresRecord } from '@tocsin/lab/oracle/record';
import { number, type ValuesOf } from '@tocsin/lab/options';
import { Random } from '@tocsin/lab/random';
import type { Queries } from '@tocsin/lab/stores';
import { Receivers } from '@tocsin/lab/world/receivers';
import { TargetSchedule } from '@tocsin/lab/world/target-schedule';
import { Targets } from '@tocsin/lab/world/targets';
import { conclude, describeTimes } from './report.ts';
import { startTocsin } from './start-tocsin.ts';

const OPTIONS = {
  times: number('kills of each store', 10, { min: 1, max: 100 }),
  monitors: number('monitors, each checked every 5 s', 200, { min: 1, max: 2_000 }),
  seed: number('seed of all random choices', 1, { min: 1, max: 2 ** 31 }),
};

const ABOUT =
  'Kills the stores of npm start in turn, and looks for lost and false alerts (docs/reliability.md).';
const CHANNEL: ChannelPlan = { key: 'receiver', kind: 'steady', monitors: null };
/** The shortest and longest time that a target keeps its state. */
const TURN_MS = [10_000, 35_000] as const;
const TURNS = 400;
/** The pause before a kill. A store that has run for 5 s counts as stable. */
const PAUSE_MS = [6_000, 12_000] as const;

/** @public called by `bootstrap.js` */
export async function main(args: readonly string[]): Promise<void> {
  await runCommand(args, { name: 'test:campaigns -- stores', about: ABOUT, options: OPTIONS, run });
}

async function run({ times, monitors, seed }: ValuesOf<typeof OPTIONS>, teardown: Teardown): Promise<number> {
  ensureRedisForTests(say);
  const random = new Random(seed, 'stores');
  const plans = Array.from({ length: monitors }, (_, index) => planMonitor(random, `monitor-${index}`));
  const schedule = new TargetSchedule(plans);
  const targets = await teardown.start(Targets.start({ stateOf: schedule.stateOf }), (one) => one.stop());
  const receivers = await teardown.start(Receivers.start({ keys: [CHANNEL.key] }), (one) => one.stop());
  const { api, stores, pidFiles, logs } = await startProduct(receivers.ca, teardown);
  const scene = { api, stores, targets, receivers, registry: new Registry() };
  await createWorld(scene, { monitors: plans, channels: [CHANNEL] }, '127.0.0.1');
  const startedAt = Date.now();
  schedule.startedAt = startedAt;
  const kills: StoreKill[] = [];
  for (let index = 0; index < 2 * times; index += 1) {
    const store = index % 2 === 0 ? 'Redis' : 'PostgreSQL';
    await wait(random.integer(...PAUSE_MS));
    const kill = await killStore(store, pidFiles[store], stores, monitors);
    kills.push(kill);
    say(
      `${store} killed: first check after ${kill.firstMs} ms, every monitor checked after ${kill.allMs} ms`,
    );
  }
  schedule.isFinal = true;
  await untilFinal(scene);
  await untilDelivered(stores);
  const record: StoresRecord = {
    campaign: 'stores',
    seed,
    startedAt,
    endedAt: Date.now(),
    monitors: scene.registry.monitors,
    channels: scene.registry.channels,
    visits: targets.visits,
    receipts: receivers.receipts,
    strays: receivers.strays,
    database: await readDatabase(stores, { without: [] }),
    kills,
  };
  const [first, all] = [kills.map(({ firstMs }) => firstMs), kills.map(({ allMs }) => allMs)];
  const rows = [
    ['kills', kills.length],
    ['from a kill until the first check', describeTimes(first)],
    ['from a kill until every monitor is checked', describeTimes(all)],
  ] as const;
  const command = `stores --seed ${seed} --times ${times} --monitors ${monitors}`;
  return conclude({ record, logs, rows, keep: false, command });
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
  const caFile = join(folder, 'receivers-ca.pem');
  await writeFile(caFile, receiverCa);
  const settings = { WEBHOOK_CA_FILE: caFile, API_RATE_LIMIT_PER_MINUTE: '0' };
  const { api } = await startTocsin(folder, settings, teardown);
  const { path: postgres } = await prepareServerFolder(join(folder, 'postgres'));
  const { path: redis } = await prepareServerFolder(join(folder, 'redis'));
  const read = async (name: string): Promise<string> => (await readFile(join(postgres, name), 'utf8')).trim();
  const url = `postgres://tocsin:${await read('password')}@127.0.0.1:${await read('port')}/tocsin`;
  const query = <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    useDatabase(url, async ({ pool }) => (await pool.query<Row>(text, [...values])).rows);
  const pidFiles = { Redis: join(redis, 'pid'), PostgreSQL: join(clusterFolder(postgres), 'postmaster.pid') };
  return { api, stores: { query }, pidFiles, logs: join(folder, 'logs') };
}

async function killStore(store: StoreKill['store'], pidFile: string, stores: Queries, monitors: number) {
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
