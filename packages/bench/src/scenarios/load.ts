import { setTimeout as wait } from 'node:timers/promises';
import { createMonitors, insertMonitors, MOST_BY_API } from '../lab/create-monitors.ts';
import { openStage, startServices, type SystemUnderLoad } from '../lab/stage.ts';
import { readEventTable, readRecordedChecks } from '../measure/events.ts';
import { histogramPercentile } from '../measure/histogram.ts';
import { readLag } from '../measure/lag.ts';
import { openWindow } from '../measure/window.ts';
import type { WebhookLag } from '../measure/webhook-lag.ts';
import { runFloor } from '../lab/floor.ts';
import { profileTop } from '../profile/profile-top.ts';
import { planFlips, readWebhookLag } from '../lab/flips.ts';
import { untilApplied, untilChecked } from '../lab/wait-until.ts';
import { loadFigures, type Load, type WindowReading } from './load-figures.ts';
import type { Bench, Measurement } from './scenario.ts';

/** Webhooks that are under way when the last target has recovered have arrived by then. */
const DRAIN_MS = 2_000;
const MOST_WARM_UP_SECONDS = 5;
/** Lag of a system that is not behind any more, in seconds. */
const SETTLED_LAG_P99 = 0.5;
const SETTLE_WITHIN_ROUNDS = 6;
/** New monitors a second: their first checks are a load of their own, and shall be no more than half of the steady one. */
const LEAST_PACE = 250;
/** Outages take a while: only for a run that does so, too. */
const WINDOW_WITH_OUTAGES_SECONDS = 10;

/** What a load is unless the options say otherwise. */
export interface LoadDefaults {
  readonly rate: number;
  readonly protocol: 'http' | 'https';
  readonly queue: 'redis' | 'postgres';
  /** Default: 1. */
  readonly checkers?: number;
  /**
   * As monitors that were checked before. Where the load takes nearly all of the machine, there is nothing left to work off
   * the first checks of new ones with. Default: made by the API, up to some thousands.
   */
  readonly inserted?: boolean;
  /** Seconds between two checks of a monitor; default 5. */
  readonly interval?: number;
  /** Length of the measured window in seconds; default 30. */
  readonly seconds?: number;
  /** Whether targets never answer, so that each check lasts until its timeout. */
  readonly hanging?: true;
}

/** A steady load of scheduled checks, measured over a window, then outages under the same load, with the floor before and after. */
export async function runLoad(bench: Bench, defaults: LoadDefaults): Promise<Measurement> {
  const load = resolveLoad(bench, defaults);
  const system = await startServices(await openStage(bench, load), load.checkers);
  bench.say('Measuring the floor …');
  const floorBefore = await runFloor(system, load.rate, load.seconds);
  const ids = await prepare(bench, system, load, defaults);
  bench.say(`Measuring for ${load.seconds} s …`);
  const reading = await measureWindow(system, load, ids);
  if (load.outages > 0) bench.say(`Letting ${load.outages} targets fail and recover …`);
  const webhooks = await measureOutages(system, load, ids.slice(0, load.outages));
  for (const checker of system.checkers) await checker.stop();
  bench.say('Measuring the floor again …');
  const floorAfter = await runFloor(system, load.rate, load.seconds);
  if (bench.profile !== null && bench.profile !== 'checker') await system[bench.profile].stop();
  return {
    settings: { ...load },
    figures: loadFigures(load, { ...reading, webhooks }, [floorBefore, floorAfter]),
    ...(bench.profile !== null && {
      notes: await profileTop(system.lab.profileFolder, reading.window.clock),
    }),
  };
}

function resolveLoad({ options }: Bench, defaults: LoadDefaults): Load {
  const rate = options.rate ?? defaults.rate;
  const interval = options.interval ?? defaults.interval ?? 5;
  const monitors = options.monitors ?? rate * interval;
  const seconds = options.seconds ?? defaults.seconds ?? 30;
  return {
    rate: monitors / interval,
    interval,
    monitors,
    seconds,
    checkers: options.checkers ?? defaults.checkers ?? 1,
    protocol: options.protocol ?? defaults.protocol,
    queue: options.queue ?? defaults.queue,
    // With long intervals these would take too long.
    outages:
      interval <= 10 && seconds >= WINDOW_WITH_OUTAGES_SECONDS ? Math.min(200, Math.floor(monitors / 10)) : 0,
  };
}

async function prepare(
  bench: Bench,
  system: SystemUnderLoad,
  load: Load,
  { hanging, inserted = load.monitors > MOST_BY_API }: LoadDefaults,
): Promise<string[]> {
  const path = (number: number): string => (hanging ? 'h' : number < load.outages ? 'f' : 'm');
  bench.say(`Creating ${load.monitors} monitors …`);
  const { lab, targetUrl } = system;
  const plan = {
    count: load.monitors,
    intervalSeconds: load.interval,
    url: (number: number) => `${targetUrl}/${path(number)}/${number}`,
  };
  const pace = Math.max(LEAST_PACE, load.rate / 2);
  const ids = await (inserted ? insertMonitors(lab, plan) : createMonitors(lab, plan, pace));
  await system.connectChannel(ids.slice(0, load.outages));
  await untilApplied(lab);
  await untilChecked(lab);
  await untilSettled(system, Math.min(MOST_WARM_UP_SECONDS, load.seconds));
  return ids;
}

/** Waits a round, and further ones while checks lag behind their schedule; where they always do, that is what is measured. */
async function untilSettled({ checkers }: SystemUnderLoad, roundSeconds: number): Promise<void> {
  for (let round = 0; round < SETTLE_WITHIN_ROUNDS; round += 1) {
    const before = await readLag(checkers);
    await wait(roundSeconds * 1_000);
    const lag = await readLag(checkers, before);
    if (histogramPercentile(lag, 99) <= SETTLED_LAG_P99) return;
  }
}

async function measureWindow(
  system: SystemUnderLoad,
  load: Load,
  ids: readonly string[],
): Promise<Omit<WindowReading, 'webhooks'>> {
  const { lab, checkers } = system;
  const { pool } = lab.database;
  const redisBytes = await system.redisBytes();
  const tableBefore = await readEventTable(pool);
  const lagBefore = await readLag(checkers);
  const window = await openWindow(lab, load.seconds);
  const lag = await readLag(checkers, lagBefore);
  const checks = await readRecordedChecks(pool, ids, load.interval, window.span);
  const tableAfter = await readEventTable(pool);
  return {
    window,
    lag,
    checks,
    redisBytesPerMonitor: (redisBytes - system.emptyRedisBytes) / load.monitors,
    postgresBytesPerCheck: (tableAfter.bytes - tableBefore.bytes) / (tableAfter.events - tableBefore.events),
  };
}

/** Under the same load, but after the window: what deliveries cost is not the cost of a check. */
async function measureOutages(
  system: SystemUnderLoad,
  load: Load,
  ids: readonly string[],
): Promise<WebhookLag | null> {
  if (ids.length === 0) return null;
  await wait(await planFlips(system.target, ids.length, load.interval));
  await wait(DRAIN_MS);
  return readWebhookLag(system, ids);
}
