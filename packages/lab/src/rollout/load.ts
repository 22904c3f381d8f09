import { say } from '../command.ts';
import { Registry } from '../load/registry.ts';
import { createWorld } from '../load/requests.ts';
import { untilDelivered, untilFinal } from '../load/settle.ts';
import { plainMonitor, type MonitorPlan } from '../load/world-plan.ts';
import type { WorldScene } from '../load/world-scene.ts';
import { createMonitor } from '../load/writes.ts';
import { readDatabase } from '../oracle/read-database.ts';
import type { RolloutPhase, RolloutRecord } from '../oracle/record.ts';
import { countSlots, type Span } from '../slots.ts';
import { receivers, targets, untilReachable, type DeployedSystem } from './deployed-system.ts';

const REGIONS = ['eu', 'us'];
const CHANNEL = 'load';
/** If the timeout were half the interval or more, checks of the same monitor could overlap. */
const TIMEOUT_SHARE = 0.4;
const FLAPPING_SHARE = 0.01;
/** A flapping target keeps its state for this many intervals. */
const TURN_INTERVALS = { min: 1.2, max: 3 };
/** Applying the schedules and running the first checks may take this long. */
const SETUP_SECONDS = 60;
/** Clocks of the machines in a cluster may differ by this much. */
const CLOCKS_DIFFER_MS = 500;

export interface LoadOptions {
  readonly rate: number;
  readonly interval: number;
}

interface Phase extends Pick<RolloutPhase, 'name' | 'maxMissedShare'> {
  readonly span: Span;
}

/** Monitors in two regions, checked at a steady rate. One in a hundred targets fails and recovers in turns. */
export class Load {
  readonly #system: DeployedSystem;
  readonly #scene: WorldScene;
  readonly #interval: number;
  readonly #monitorIds: readonly string[];
  readonly #startedAt = Date.now();
  readonly #phases: Phase[] = [];

  private constructor(system: DeployedSystem, scene: WorldScene, interval: number, ids: readonly string[]) {
    this.#system = system;
    this.#scene = scene;
    this.#interval = interval;
    this.#monitorIds = ids;
  }

  /** Creates the monitors, and a channel for the flapping ones. Resolves when targets fail, and each monitor has been checked twice. */
  static async start(system: DeployedSystem, { rate, interval }: LoadOptions): Promise<Load> {
    const plans = Array.from({ length: rate * interval }, (_, index) => planMonitor(index, interval));
    const flapping = plans.splice(0, Math.ceil(plans.length * FLAPPING_SHARE));
    const keys = flapping.map(({ key }) => key);
    await system.setTurns(Object.fromEntries(keys.map((key) => [key, null])));
    const scene = { api: system.api, registry: new Registry(), receivers, targets, stores: system };
    const channel = { key: CHANNEL, kind: 'steady', monitors: keys } as const;
    await createWorld(scene, { monitors: flapping, channels: [channel] });
    const monitors = plans.map((plan) => createMonitor(scene, plan).body);
    await system.request('PUT', '/api/cli/monitors', 200, { source: 'load', monitors });
    const rows = await system.query<{ id: string }>('select id from monitors');
    const load = new Load(
      system,
      scene,
      interval,
      rows.map(({ id }) => id),
    );
    const turnMs = (index: number): number => {
      const { min, max } = TURN_INTERVALS;
      return (min + ((max - min) * (index + 1)) / keys.length) * interval * 1_000;
    };
    await system.setTurns(Object.fromEntries(keys.map((key, index) => [key, turnMs(index)])));
    await load.checkAll(2);
    return load;
  }

  /** Disturbs parts of the system one at a time. @param maxMissedShare see `RolloutPhase` */
  async phase(
    name: string,
    parts: readonly string[],
    disturb: (part: string) => Promise<unknown>,
    maxMissedShare = 0,
  ): Promise<void> {
    const from = Date.now();
    await this.checkAll();
    for (const part of parts) {
      say(`${name}: ${part} …`);
      await disturb(part);
    }
    await this.checkAll();
    // Checks of the last interval may still be running.
    const span = { from, to: Date.now() - this.#interval * 1_000 };
    this.#phases.push({ name, maxMissedShare, span });
  }

  /** Waits until each monitor has this many scheduled checks from now on. */
  async checkAll(times = 1): Promise<void> {
    const since = new Date().toISOString();
    await untilReachable('every monitor to be checked', SETUP_SECONDS + 3 * this.#interval, async () => {
      const checked = await this.#system.query(
        'select from events where slot >= $1 group by monitor_id having count(distinct slot) >= $2',
        [since, times],
      );
      return checked.length >= this.#monitorIds.length;
    });
  }

  /** Makes every target pass, and returns what was recorded when every webhook is delivered. */
  async finish(): Promise<RolloutRecord> {
    const { monitors, channels } = this.#scene.registry;
    await this.#system.setTurns(Object.fromEntries(monitors.map(({ plan }) => [plan.key, null])));
    const shown = await untilFinal(this.#scene);
    await untilDelivered(this.#system);
    const phases = await Promise.all(this.#phases.map((phase) => this.#count(phase)));
    // Read before the log, so that it has the request of each event.
    const database = await readDatabase(this.#system, { only: monitors.map(({ id }) => id) });
    const { visits, receipts } = await this.#system.readOutsideLog();
    return {
      campaign: 'rollout',
      seed: 0,
      startedAt: this.#startedAt,
      endedAt: Date.now(),
      monitors,
      channels,
      visits: visits.map((visit) => Object.assign(visit, { at: visit.at - CLOCKS_DIFFER_MS })),
      receipts: receipts.filter(({ key }) => key === CHANNEL),
      strays: [],
      database,
      phases,
      shown,
    };
  }

  async #count({ name, maxMissedShare, span }: Phase): Promise<RolloutPhase> {
    type Counts = Omit<RolloutPhase, 'name' | 'maxMissedShare' | 'planned' | 'seconds'>;
    const [counts] = await this.#system.query<Counts>(
      `select count(*) as events, count(distinct (monitor_id, slot)) as checked,
         round(max(extract(epoch from timestamp - slot)) * 1000) as "latestMs",
         count(*) filter (where status = 'DOWN') as failed,
         count(*) filter (where status = 'DOWN' and error_reason is distinct from 'HTTP_500') as unanswered
       from events where slot >= $1 and slot < $2 and monitor_id in (select id from monitors)`,
      [span.from, span.to].map((time) => new Date(time).toISOString()),
    );
    if (counts === undefined) throw new TypeError('a count has a row');
    const planned = countSlots(this.#monitorIds, this.#interval * 1_000, span);
    return { name, maxMissedShare, planned, seconds: (span.to - span.from) / 1_000, ...counts };
  }
}

function planMonitor(index: number, intervalSeconds: number): MonitorPlan {
  return {
    ...plainMonitor(`load-${index}`, REGIONS[index % REGIONS.length] ?? ''),
    failureThreshold: 1,
    intervalSeconds,
    timeoutSeconds: Math.max(1, Math.floor(intervalSeconds * TIMEOUT_SHARE)),
  };
}
