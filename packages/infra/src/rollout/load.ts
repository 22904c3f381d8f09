import { parseArgs, type ParseArgsConfig } from 'node:util';
import { openSession } from '@tocsin/lab/dashboard-session';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { z } from 'zod';
import { callApi, type DeployedSystem, RECEIVER_URL, TARGET_URL, waitUntil } from './deployed-system.ts';

const SOURCE = 'load';
const REGIONS = ['eu', 'us'];
/** With a timeout of half the interval or more, checks of one monitor could overlap. */
const TIMEOUT_SHARE = 0.4;
const FLAPPING_SHARE = 0.01;
/** How many intervals a flapping target is up, or down, at a time. */
const TURN_INTERVALS = { least: 1.2, most: 3 } as const;
const SETTLE_SECONDS = 180;
/** Until the schedules are applied and the first checks run. */
const SETUP_SECONDS = 60;

/** A monitor of the load. */
export interface LoadedMonitor {
  readonly id: string;
  readonly region: string;
  readonly flaps: boolean;
}

export interface LoadOptions {
  /** Checks a second. */
  readonly rate: number;
  /** Of each monitor, seconds. */
  readonly interval: number;
}

/** Monitors of both regions that are checked at a steady rate; one in a hundred of them fails and recovers in turns. */
export class Load {
  readonly monitors: readonly LoadedMonitor[];
  readonly options: LoadOptions;
  readonly #system: DeployedSystem;

  private constructor(system: DeployedSystem, options: LoadOptions, monitors: readonly LoadedMonitor[]) {
    this.#system = system;
    this.options = options;
    this.monitors = monitors;
  }

  /** Creates the monitors and a channel for all of them. Resolves when each monitor has been checked twice. */
  static async start(system: DeployedSystem, options: LoadOptions): Promise<Load> {
    const count = options.rate * options.interval;
    const flapping = Math.ceil(count * FLAPPING_SHARE);
    const { request } = await openSession(system, system.admin, system.publicUrl);
    const channel = await request('POST', '/channels', {
      name: 'Load',
      url: RECEIVER_URL,
      monitorIds: [],
      allMonitors: true,
    });
    if (channel.status !== 201)
      throw new Error(`creating a channel: ${channel.status} ${await channel.text()}`);
    const monitors = Array.from({ length: count }, (_, index) => ({
      externalId: String(index),
      name: `Load ${index}`,
      url: TARGET_URL + String(index),
      interval: options.interval,
      timeout: Math.max(1, Math.floor(options.interval * TIMEOUT_SHARE)),
      regions: [REGIONS[index % REGIONS.length]],
    }));
    const applied = await callApi(system, 'PUT', '/api/cli/monitors', { source: SOURCE, monitors });
    if (applied.status !== 200)
      throw new Error(`applying the monitors: ${JSON.stringify(applied).slice(0, 500)}`);
    const load = new Load(system, options, await listMonitors(system, flapping));
    if (load.monitors.length !== count) throw new Error(`${load.monitors.length} monitors, not ${count}`);
    await load.#untilChecked(2);
    return load;
  }

  /** Lets the flapping targets fail and recover in turns from now on. */
  async flap(): Promise<void> {
    const intervalMs = this.options.interval * 1_000;
    await this.#system.outside.flap({
      count: this.monitors.filter(({ flaps }) => flaps).length,
      leastMs: TURN_INTERVALS.least * intervalMs,
      mostMs: TURN_INTERVALS.most * intervalMs,
    });
  }

  /** Lets every target pass. Resolves when every monitor is UP and every webhook is delivered. */
  async settle(): Promise<void> {
    await this.#system.outside.flap({ count: 0, leastMs: 1, mostMs: 1 });
    await this.#untilChecked(1);
    await waitUntil('every monitor to be UP and every webhook to be delivered', SETTLE_SECONDS, async () => {
      const [open] = z.tuple([z.object({ open: z.number() })]).parse(
        await this.#system.query(
          `select (select count(*) from monitors where source = '${SOURCE}' and status <> 'UP')
             + (select count(*) from status_changes where dispatched_at is null)
             + (select count(*) from deliveries where state = 'pending') as open`,
        ),
      );
      return open.open === 0;
    });
  }

  /** Waits until each monitor was checked at a slot from now on. */
  checkOnce(): Promise<void> {
    return this.#untilChecked(1);
  }

  /** Waits until each monitor has recorded so many scheduled checks from now on. */
  async #untilChecked(times: number): Promise<void> {
    const since = new Date().toISOString();
    await waitUntil('every monitor to be checked', SETUP_SECONDS + 3 * this.options.interval, async () => {
      const rows = z.tuple([z.object({ checked: z.number() })]).parse(
        await this.#system.query(
          `select count(*) as checked from (select monitor_id from events where slot >= '${since}'
             group by monitor_id having count(distinct slot) >= ${times}) as checked_monitors`,
        ),
      );
      return rows[0].checked >= this.monitors.length;
    });
  }
}

async function listMonitors(system: DeployedSystem, flapping: number): Promise<LoadedMonitor[]> {
  const rows = z
    .array(z.object({ id: z.string(), externalId: z.string() }))
    .parse(
      await system.query(
        `select id, external_id as "externalId" from monitors where source = '${SOURCE}' order by external_id`,
      ),
    );
  return rows.map(({ id, externalId }) => {
    const index = Number(externalId);
    return { id, region: REGIONS[index % REGIONS.length] ?? '', flaps: index < flapping };
  });
}

/** For `parseArgs`. */
export const LOAD_OPTIONS = {
  rate: { type: 'string', default: '500' },
  interval: { type: 'string', default: '20' },
} as const;

export const LOAD_HELP = `  --rate NUMBER       checks per second (default 500)
  --interval NUMBER   of each monitor, seconds (default 20)
  --json FILE         writes the results there`;

/** `parseArgs` of Node.js, with a message for people. @throws UsageError */
export function parseCommandLine<Options extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Options,
): ReturnType<typeof parseArgs<{ options: Options }>>['values'] {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** The limit of one request that applies a set of monitors. */
const MAX_MONITORS = 10_000;

/** @throws UsageError */
export function parseLoadOptions(values: { readonly rate: string; readonly interval: string }): LoadOptions {
  const [rate, interval] = [Number(values.rate), Number(values.interval)];
  if (!Number.isInteger(rate) || rate < 10) throw new UsageError('--rate takes a whole number from 10');
  if (!Number.isInteger(interval) || interval < 5)
    throw new UsageError('--interval takes a whole number from 5');
  if (rate * interval > MAX_MONITORS)
    throw new UsageError(
      `--rate times --interval is ${rate * interval} monitors; at most ${MAX_MONITORS} are possible`,
    );
  return { rate, interval };
}
