import { say } from '../command.ts';
import { z } from 'zod';
import { RECEIVER_URL, TARGET_URL, untilReachable, type DeployedSystem } from './deployed-system.ts';
import { readFindings, type Findings, type LoadedMonitor } from './findings.ts';

const REGIONS = ['eu', 'us'];
/** With a timeout of half the interval or more, checks of one monitor could overlap. */
const TIMEOUT_SHARE = 0.4;
const FLAPPING_SHARE = 0.01;
/** A flapping target keeps its state for this many intervals. */
const TURN_INTERVALS = { min: 1.2, max: 3 };
const SETTLE_SECONDS = 180;
/** The schedules are applied and the first checks have run by then. */
const SETUP_SECONDS = 60;

export interface LoadOptions {
  readonly rate: number;
  readonly interval: number;
}

/** Monitors in two regions, checked at a steady rate. One in a hundred targets can fail and recover in turns. */
export class Load {
  readonly #system: DeployedSystem;
  readonly #monitors: readonly LoadedMonitor[];
  readonly #interval: number;

  private constructor(system: DeployedSystem, monitors: readonly LoadedMonitor[], interval: number) {
    this.#system = system;
    this.#monitors = monitors;
    this.#interval = interval;
  }

  /** Creates the monitors and a channel for all of them. Resolves when each monitor has been checked twice. */
  static async start(system: DeployedSystem, { rate, interval }: LoadOptions): Promise<Load> {
    const channel = { name: 'Load', url: RECEIVER_URL, monitorIds: [], allMonitors: true };
    await system.request('POST', '/api/dashboard/channels', 201, channel);
    const monitors = Array.from({ length: rate * interval }, (_, index) => ({
      externalId: String(index),
      name: `Load ${index}`,
      url: TARGET_URL + String(index),
      interval,
      timeout: Math.max(1, Math.floor(interval * TIMEOUT_SHARE)),
      regions: [REGIONS[index % REGIONS.length]],
    }));
    await system.request('PUT', '/api/cli/monitors', 200, { source: 'load', monitors });
    const rows = await system.query(
      z.object({ id: z.string(), region: z.string() }),
      `select id, regions[1] as region from monitors where source = 'load'`,
    );
    if (rows.length !== monitors.length) throw new Error(`${rows.length} monitors, not ${monitors.length}`);
    const load = new Load(system, rows, interval);
    await load.checkAll(2);
    return load;
  }

  /**
   * Disturbs the system while targets fail and recover, and compares the records of the targets, Postgres and the receiver.
   * Resolves when every monitor is UP again and every webhook is delivered.
   */
  async measure(disturb: () => Promise<void>): Promise<Findings> {
    const intervalMs = this.#interval * 1_000;
    const [minMs, maxMs] = [TURN_INTERVALS.min * intervalMs, TURN_INTERVALS.max * intervalMs];
    const count = Math.ceil(this.#monitors.length * FLAPPING_SHARE);
    await this.#system.setTargets({ inTurns: { count, minMs, maxMs } });
    const from = Date.now();
    await this.checkAll();
    await disturb();
    await this.checkAll();
    // Checks of the last interval may still be running.
    const to = Date.now() - intervalMs;
    await this.#settle();
    return readFindings(this.#system, this.#monitors, intervalMs, { from, to });
  }

  /** Measures while the parts are disturbed one after the other. @param verb describes the progress */
  measureEach(
    verb: string,
    parts: readonly string[],
    disturb: (part: string) => Promise<unknown>,
  ): Promise<Findings> {
    return this.measure(async () => {
      for (const part of parts) {
        say(`${verb} ${part} …`);
        await disturb(part);
      }
    });
  }

  /** Waits until each monitor has this many scheduled checks from now on. */
  async checkAll(times = 1): Promise<void> {
    const since = new Date().toISOString();
    const query = `select count(*) from (select from events where slot >= '${since}'
      group by monitor_id having count(distinct slot) >= ${times}) as monitors`;
    await untilReachable(
      'every monitor to be checked',
      SETUP_SECONDS + 3 * this.#interval,
      async () => (await this.#system.count(query)) >= this.#monitors.length,
    );
  }

  /** Lets every target pass. Resolves when every monitor is UP and every webhook is delivered. */
  async #settle(): Promise<void> {
    await this.#system.setTargets({});
    await this.checkAll();
    const query = `select (select count(*) from monitors where source = 'load' and status <> 'UP')
      + (select count(*) from status_changes where dispatched_at is null)
      + (select count(*) from deliveries where state = 'pending') as count`;
    await untilReachable(
      'every monitor to be UP and every webhook to be delivered',
      SETTLE_SECONDS,
      async () => (await this.#system.count(query)) === 0,
    );
  }
}
