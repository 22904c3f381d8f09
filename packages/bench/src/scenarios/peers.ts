import { mkdtemp, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '@tocsin/embedded/testing/until';
import { untilChecked } from '@tocsin/lab/monitors';
import { measureChecks, measureInTurns } from '../measure/checks.ts';
import { bareChecks, withFloor } from '../measure/floor.ts';
import type { Usages } from '../measure/proc.ts';
import { cpuMicros, measureUsage, sumUsage } from '../measure/usage.ts';
import { BLACKBOX, requireProgram, startBlackbox, startPrometheus } from '../processes/server-programs.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage, type Stage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';

const INTERVAL_SECONDS = 5;
/** Code that has just started is still being compiled, and caches are still being filled. */
const WARM_UP_MS = 15_000;
/** The programs that count towards the cost of each side. */
const PROGRAMS = { tocsin: ['checker', 'redis', 'postgres'], peer: ['prometheus', 'blackbox'] } as const;
const LABELS = { tocsin: 'Tocsin', peer: 'blackbox_exporter with Prometheus' } as const;
type Side = keyof typeof PROGRAMS;

export interface PeersPlan {
  readonly rate: number;
  readonly protocol: 'http' | 'https';
}

interface PeersLoad extends PeersPlan {
  readonly monitors: number;
  readonly interval: number;
  readonly seconds: number;
  readonly checkers: number;
}

/** The checks of one side in a window. */
interface Probes {
  readonly expected: number;
  readonly completed: number;
  readonly usage: Usages;
  /** Bytes on disk per check. */
  readonly bytes: number;
}

/** Tocsin and blackbox_exporter with Prometheus check the same targets at the same rate. */
export async function runPeers(bench: Bench, plan: PeersPlan): Promise<Measurement> {
  for (const program of ['prometheus', BLACKBOX]) requireProgram(program);
  const { interval = INTERVAL_SECONDS, seconds = 30, checkers = 1 } = bench.options;
  const { rate = plan.rate, protocol = plan.protocol } = bench.options;
  const load = { rate, monitors: rate * interval, interval, seconds, checkers, protocol };
  const stage = await openStage(bench, { protocol });
  await Promise.all([stage.startService('api'), stage.startService('notifier')]);
  const ids = await stage.insertMonitors(load.monitors, interval);
  await stage.untilScheduled();
  const { result: windows, floor } = await withFloor(bench, bareChecks(stage, load), () =>
    measureInTurns(['tocsin', 'peer'], (side: Side) => {
      bench.say(`Measuring ${LABELS[side]} for ${seconds} s …`);
      return side === 'tocsin' ? measureTocsin(stage, ids, load) : measurePeer(bench, stage, load);
    }),
  );
  const [tocsin, peer] = [sumProbes(windows.tocsin), sumProbes(windows.peer)];
  const [own, other] = [cpuPerProbe('tocsin', tocsin), cpuPerProbe('peer', peer)];
  return {
    settings: { ...load },
    figures: [
      ...sideFigures('tocsin', tocsin),
      ...sideFigures('peer', peer),
      figure('floor', 'CPU of a bare request', floor.cpu, 'µs'),
      figure('tocsin-to-peer', `CPU per check, Tocsin ÷ ${LABELS.peer}`, own / other, '×', { atMost: 0.5 }),
      figure('tocsin-to-floor', '  Tocsin ÷ bare request', own / floor.cpu, '×'),
      figure('peer-to-floor', `  ${LABELS.peer} ÷ bare request`, other / floor.cpu, '×'),
    ],
  };
}

/** Starts checkers for one window. The slots in between are missed, and do not count. */
async function measureTocsin(
  stage: Stage,
  ids: readonly string[],
  { interval, seconds, checkers }: PeersLoad,
): Promise<Probes> {
  const startedAt = Date.now();
  await stage.startCheckers(checkers);
  await untilChecked(stage.system, startedAt);
  await wait(WARM_UP_MS);
  const { checks, usage, bytesPerCheck } = await measureChecks(stage, ids, interval, seconds);
  await stage.stopServices('checker');
  return { expected: checks.expected, completed: checks.recorded, usage, bytes: bytesPerCheck };
}

/** Starts both programs for one window, with an empty database. */
async function measurePeer(
  bench: Bench,
  stage: Stage,
  { monitors, interval, seconds, protocol }: PeersLoad,
): Promise<Probes> {
  const folder = await mkdtemp(join(stage.system.folder, 'peer-'));
  const urls = Array.from({ length: monitors }, (_, number) => `${stage.targetUrl}/m/${number}`);
  const trusted = protocol === 'https' ? stage.caFile : null;
  const blackbox = await startBlackbox(bench, folder, trusted, urls, interval);
  const prometheus = await startPrometheus(bench, folder, blackbox.scrapeConfig, 'count(probe_success)');
  stage.addProgram('blackbox', blackbox.pid);
  stage.addProgram('prometheus', prometheus.pid);
  // A probe that failed or timed out counts, too.
  await until('a probe of each target', async () => (await prometheus.query('count(up)')) >= monitors);
  await wait(WARM_UP_MS);
  const before = await folderBytes(prometheus.dataFolder);
  const { span, usage } = await measureUsage(stage, () => wait(seconds * 1_000));
  const bytes = (await folderBytes(prometheus.dataFolder)) - before;
  // Probes that started at the end of the window are stored a little later.
  await wait(interval * 1_000);
  const spanMs = span.to - span.from;
  const completed = await prometheus.query(`sum(sum_over_time(probe_success[${spanMs}ms]))`, span.to);
  if (Number.isNaN(completed))
    throw new Error(
      'No probe of blackbox_exporter succeeded. The machine is too slow or too busy. Reduce --rate.',
    );
  await Promise.all([prometheus.stop(), blackbox.stop()]);
  return { expected: (monitors * spanMs) / 1_000 / interval, completed, usage, bytes: bytes / completed };
}

/** Adds windows up. Memory and bytes are those of the last one. */
function sumProbes(windows: readonly Probes[]): Probes {
  const sum = (name: 'expected' | 'completed'): number =>
    windows.reduce((total, window) => total + window[name], 0);
  const usage = sumUsage(windows.map((window) => window.usage));
  const bytes = windows.at(-1)?.bytes ?? Number.NaN;
  return { expected: sum('expected'), completed: sum('completed'), usage, bytes };
}

function cpuPerProbe(side: Side, { usage, completed }: Probes): number {
  return cpuMicros(usage, PROGRAMS[side]) / completed;
}

function sideFigures(side: Side, probes: Probes): Figure[] {
  const { completed, expected, usage, bytes } = probes;
  const share = (completed / expected) * 100;
  return [
    figure(`${side}-done`, `${LABELS[side]}: checks completed, of planned`, share, '%', { atLeast: 99 }),
    figure(`${side}-cpu`, '  CPU per check', cpuPerProbe(side, probes), 'µs'),
    ...PROGRAMS[side].map((name) =>
      figure(`cpu-${name}`, `    ${name}`, cpuMicros(usage, [name]) / completed, 'µs'),
    ),
    ...PROGRAMS[side].map((name) => {
      const own = [...usage].filter(([label]) => label.split(' ', 1)[0] === name);
      const rss = own.reduce((sum, [, { rssBytes }]) => sum + rssBytes, 0);
      return figure(`rss-${name}`, `  memory of ${name}`, rss / 1e6, 'MB');
    }),
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
