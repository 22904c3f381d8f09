import { spawnSync } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '@tocsin/embedded/testing/until';
import { untilChecked } from '@tocsin/lab/monitors';
import { measureChecks, measureInTurns, type CheckWindow } from '../measure/checks.ts';
import { bareChecks, withFloor } from '../measure/floor.ts';
import { cpuMicros, measureUsage } from '../measure/usage.ts';
import { BLACKBOX, requireProgram, startBlackbox, startPrometheus } from '../processes/server-programs.ts';
import { figure, type Figure } from '../report/figure.ts';
import { openStage, type Stage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';

/** Code that has just started is still being compiled, and caches are still being filled. */
const WARM_UP_MS = 15_000;
/** Programs whose cost counts for each side. */
const PROGRAMS = { tocsin: ['checker', 'redis', 'postgres'], peer: ['prometheus', 'blackbox'] } as const;
const LABELS = { tocsin: 'Tocsin', peer: 'blackbox_exporter with Prometheus' } as const;
type Side = keyof typeof PROGRAMS;

interface PeersLoad {
  readonly monitors: number;
  readonly interval: number;
  readonly seconds: number;
  readonly checkers: number;
}

/** Tocsin and blackbox_exporter with Prometheus check the same targets at the same rate. */
export async function runPeers(bench: Bench): Promise<Measurement> {
  for (const program of ['prometheus', BLACKBOX]) requireProgram(program);
  const { rate = 1_000, protocol = 'http', interval = 5, seconds = 30, checkers = 1 } = bench.options;
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
  const [own, other] = [cpuPerProbe('tocsin', windows.tocsin), cpuPerProbe('peer', windows.peer)];
  return {
    settings: load,
    figures: [
      ...sideFigures('tocsin', windows.tocsin),
      ...sideFigures('peer', windows.peer),
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
): Promise<CheckWindow> {
  const startedAt = Date.now();
  await stage.startCheckers(checkers);
  await untilChecked(stage.system, startedAt);
  await wait(WARM_UP_MS);
  const window = await measureChecks(stage, ids, interval, seconds);
  await stage.stopServices('checker');
  return window;
}

/** Starts both programs for one window, with an empty database. */
async function measurePeer(
  bench: Bench,
  stage: Stage,
  { monitors, interval, seconds }: PeersLoad,
): Promise<CheckWindow> {
  const folder = await mkdtemp(join(stage.system.folder, 'peer-'));
  const urls = Array.from({ length: monitors }, (_, number) => `${stage.targetUrl}/m/${number}`);
  const trusted = stage.targetCa === null ? null : stage.caFile;
  const blackbox = await startBlackbox(bench, folder, trusted, urls, interval);
  const prometheus = await startPrometheus(bench, folder, blackbox.scrapeConfig, 'count(probe_success)');
  stage.addProgram('blackbox', blackbox.pid);
  stage.addProgram('prometheus', prometheus.pid);
  // A probe that failed or timed out counts, too.
  await until('a probe of each target', async () => (await prometheus.query('count(up)')) >= monitors);
  await wait(WARM_UP_MS);
  const before = folderBytes(prometheus.dataFolder);
  const { span, usage } = await measureUsage(stage, () => wait(seconds * 1_000));
  const bytes = folderBytes(prometheus.dataFolder) - before;
  // Probes that started at the end of the window are stored a little later.
  await wait(interval * 1_000);
  const spanMs = span.to - span.from;
  const recorded = await prometheus.query(`sum(sum_over_time(probe_success[${spanMs}ms]))`, span.to);
  if (Number.isNaN(recorded))
    throw new Error(
      'No probe of blackbox_exporter succeeded. The machine is too slow or too busy. Reduce --rate.',
    );
  await Promise.all([prometheus.stop(), blackbox.stop()]);
  const expected = (monitors * spanMs) / 1_000 / interval;
  const checks = { expected, recorded, missed: expected - recorded, recordedMaxMs: Number.NaN, lag: [] };
  return { ...checks, seconds: spanMs / 1_000, usage, bytesPerCheck: bytes / recorded };
}

function cpuPerProbe(side: Side, { usage, recorded }: CheckWindow): number {
  return cpuMicros(usage, PROGRAMS[side]) / recorded;
}

function sideFigures(side: Side, window: CheckWindow): Figure[] {
  const { recorded, expected, usage, bytesPerCheck } = window;
  const share = (recorded / expected) * 100;
  const own = [...usage].filter(([label]) => PROGRAMS[side].some((name) => label.split(' ', 1)[0] === name));
  const memory = own.reduce((sum, [, { rssBytes }]) => sum + rssBytes, 0);
  return [
    figure(`${side}-done`, `${LABELS[side]}: checks completed, of planned`, share, '%', { atLeast: 99 }),
    figure(`${side}-cpu`, '  CPU per check', cpuPerProbe(side, window), 'µs'),
    figure(`${side}-memory`, '  memory', memory / 1e6, 'MB'),
    figure(`${side}-bytes`, '  disk per check', bytesPerCheck, 'B'),
  ];
}

function folderBytes(folder: string): number {
  // It fails if Prometheus deletes a file meanwhile, but prints the sum of the others.
  const { stdout } = spawnSync('du', ['--summarize', '--block-size=1', folder], { encoding: 'utf8' });
  return Number.parseInt(stdout, 10);
}
