import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '@tocsin/embedded/testing/until';
import { untilChecked, untilScheduled } from '@tocsin/lab/monitors';
import { readEventTable, readRecordedChecks } from '../measure/events.ts';
import { findBlackbox, probeJob, startBlackbox } from '../processes/blackbox.ts';
import { findPrometheus, startPrometheus } from '../processes/prometheus.ts';
import { figure, type Figure } from '../report/figure.ts';
import { measureUsage, openStage, type MeasuredWindow, type Stage } from '../stage.ts';
import { floorPerRequest, measureFloor } from './load.ts';
import type { Bench, Measurement } from './scenario.ts';

const INTERVAL_SECONDS = 5;
/** Code that has just started is still being compiled, and caches are still being filled. */
const WARM_UP_MS = 15_000;
/** The programs of each, which count towards its cost. Several checkers count as one. */
const PROGRAMS = { tocsin: ['checker', 'redis', 'postgres'], peer: ['prometheus', 'blackbox'] } as const;
type Side = keyof typeof PROGRAMS;

export interface PeersPlan {
  readonly rate: number;
  readonly protocol: 'http' | 'https';
}

/** One side's checks or probes in a window, or in several. */
interface Probes {
  readonly expected: number;
  readonly completed: number;
  /** By program. */
  readonly cpuMs: ReadonlyMap<string, number>;
  readonly rssBytes: ReadonlyMap<string, number>;
  /** Written to disk for each of them. */
  readonly bytes: number;
}

/** Tocsin and blackbox_exporter with Prometheus check the same targets at the same rate, in turns, because the machine may drift. */
export async function runPeers(bench: Bench, plan: PeersPlan): Promise<Measurement> {
  findPrometheus();
  findBlackbox();
  const {
    rate = plan.rate,
    protocol = plan.protocol,
    interval = INTERVAL_SECONDS,
    seconds = 30,
  } = bench.options;
  const { checkers = 1 } = bench.options;
  const monitors = rate * interval;
  const stage = await openStage(bench, { protocol });
  const load = { monitors, interval, seconds, checkers };
  await Promise.all(['api', 'notifier'].map((name) => stage.startService(name)));
  const ids = await stage.insertMonitors(monitors, interval);
  if (stage.redis !== null) await untilScheduled(stage.system, stage.redis);
  bench.say('Measuring the floor …');
  const floors = [await measureFloor(bench, stage, { rate, seconds })];
  const windows: Record<Side, Probes[]> = { tocsin: [], peer: [] };
  for (const side of ['tocsin', 'peer', 'peer', 'tocsin'] as const) {
    bench.say(
      `Measuring ${side === 'tocsin' ? 'Tocsin' : 'blackbox_exporter with Prometheus'} for ${seconds} s …`,
    );
    windows[side].push(
      await (side === 'tocsin' ? measureTocsin(stage, ids, load) : measurePeer(bench, stage, load)),
    );
  }
  bench.say('Measuring the floor again …');
  floors.push(await measureFloor(bench, stage, { rate, seconds }));
  const [tocsin, peer] = [combine(windows.tocsin), combine(windows.peer)];
  const floor = floorPerRequest(floors);
  const [own, other] = [cpuPerProbe('tocsin', tocsin), cpuPerProbe('peer', peer)];
  return {
    settings: { ...load, protocol },
    figures: [
      ...sideFigures('tocsin', 'Tocsin', tocsin),
      ...sideFigures('peer', 'blackbox_exporter with Prometheus', peer),
      figure('floor', 'CPU of a bare request', floor, 'µs'),
      figure('tocsin-to-peer', 'CPU per check, Tocsin ÷ blackbox_exporter with Prometheus', own / other, '×'),
      figure('tocsin-to-floor', '  Tocsin ÷ bare request', own / floor, '×'),
      figure('peer-to-floor', '  blackbox_exporter with Prometheus ÷ bare request', other / floor, '×'),
    ],
  };
}

interface PeersLoad {
  readonly monitors: number;
  readonly interval: number;
  readonly seconds: number;
  readonly checkers: number;
}

/** Starts checkers for one window. The slots in between are missed, and do not count. */
async function measureTocsin(
  stage: Stage,
  ids: readonly string[],
  { interval, seconds, checkers }: PeersLoad,
): Promise<Probes> {
  const { system } = stage;
  const { pool } = system.database;
  const startedAt = Date.now();
  const numbers = Array.from({ length: checkers }, (_, index) => `checker ${index + 1}`);
  await Promise.all(numbers.map((name) => stage.startService(name)));
  await untilChecked(system, startedAt);
  await wait(WARM_UP_MS);
  const before = await readEventTable(pool);
  const window = await measureUsage(stage, () => wait(seconds * 1_000));
  const after = await readEventTable(pool);
  const { recorded, expected } = await readRecordedChecks(pool, ids, interval, window.span);
  await stage.stopServices('checker');
  const bytes = (after.bytes - before.bytes) / (after.events - before.events);
  return { expected, completed: recorded, bytes, ...usageOf('tocsin', window) };
}

/** Starts both programs for one window, with an empty database. */
async function measurePeer(
  bench: Bench,
  stage: Stage,
  { monitors, interval, seconds }: PeersLoad,
): Promise<Probes> {
  const { folder } = stage.system;
  const urls = Array.from({ length: monitors }, (_, number) => `${stage.targetUrl}/m/${number}`);
  const blackbox = await startBlackbox(bench, folder, stage.targetCaFile);
  const job = probeJob(blackbox.address, urls, interval);
  const prometheus = await startPrometheus(bench, folder, job, 'count(probe_success)');
  stage.addProgram('blackbox', blackbox.pid);
  stage.addProgram('prometheus', prometheus.pid);
  // A probe that failed or timed out counts, too.
  await until('a probe of each target', async () => (await prometheus.query('count(up)')) >= monitors);
  await wait(WARM_UP_MS);
  const before = await folderBytes(prometheus.dataFolder);
  const window = await measureUsage(stage, () => wait(seconds * 1_000));
  const bytes = (await folderBytes(prometheus.dataFolder)) - before;
  // Probes that started at the end of the window are stored a little later.
  await wait(interval * 1_000);
  const { from, to } = window.span;
  const completed = await prometheus.query(`sum(sum_over_time(probe_success[${to - from}ms]))`, to);
  if (Number.isNaN(completed))
    throw new Error(
      'No probe of blackbox_exporter succeeded. The machine is too slow or too busy. Reduce --rate.',
    );
  await Promise.all([prometheus.stop(), blackbox.stop()]);
  const expected = (monitors * (to - from)) / 1_000 / interval;
  return { expected, completed, bytes: bytes / completed, ...usageOf('peer', window) };
}

function usageOf(side: Side, { usage }: MeasuredWindow): Pick<Probes, 'cpuMs' | 'rssBytes'> {
  const sum = (program: string, name: 'cpuMs' | 'rssBytes'): [string, number] => {
    const own = [...usage].filter(([label]) => label.split(' ', 1)[0] === program);
    return [program, own.reduce((total, [, used]) => total + used[name], 0)];
  };
  return {
    cpuMs: new Map(PROGRAMS[side].map((program) => sum(program, 'cpuMs'))),
    rssBytes: new Map(PROGRAMS[side].map((program) => sum(program, 'rssBytes'))),
  };
}

/** The windows of a side as one; memory and bytes of the last one. */
function combine(windows: readonly Probes[]): Probes {
  const total = (valueOf: (window: Probes) => number): number =>
    windows.reduce((sum, window) => sum + valueOf(window), 0);
  const last = windows.at(-1);
  if (last === undefined) throw new TypeError('no windows');
  return {
    ...last,
    expected: total(({ expected }) => expected),
    completed: total(({ completed }) => completed),
    cpuMs: new Map(
      [...last.cpuMs.keys()].map((name) => [name, total(({ cpuMs }) => cpuMs.get(name) ?? Number.NaN)]),
    ),
  };
}

/** µs. */
function cpuPerProbe(side: Side, { cpuMs, completed }: Probes): number {
  return (PROGRAMS[side].reduce((sum, name) => sum + (cpuMs.get(name) ?? Number.NaN), 0) * 1_000) / completed;
}

function sideFigures(side: Side, label: string, probes: Probes): Figure[] {
  const { completed, expected, cpuMs, rssBytes, bytes } = probes;
  return [
    figure(`${side}-done`, `${label}: checks completed, of planned`, (completed / expected) * 100, '%'),
    figure(`${side}-cpu`, '  CPU per check', cpuPerProbe(side, probes), 'µs'),
    ...[...cpuMs].map(([name, ms]) => figure(`cpu-${name}`, `    ${name}`, (ms * 1_000) / completed, 'µs')),
    ...[...rssBytes].map(([name, size]) =>
      figure(`rss-${name}`, `  memory of ${name}`, size / 1_000_000, 'MB'),
    ),
    figure(`${side}-bytes`, '  disk per check', bytes, 'B'),
  ];
}

async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true });
  // Prometheus may delete a file meanwhile.
  const sizes = await Promise.all(
    entries.map((entry) =>
      stat(join(folder, entry)).then(
        ({ blocks }) => blocks * 512,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
