import { setTimeout as wait } from 'node:timers/promises';
import type { Scene } from '../faults/scene.ts';
import { Random } from '../random.ts';
import { cutMaintenance, enableChannel, trigger } from './requests.ts';
import { FAULTY_CHANNEL, LABELS, SCOPES, type World } from './world-plan.ts';
import {
  CHANNELS_PATH,
  deleteMonitor,
  editMonitor,
  planMaintenance,
  rescopeChannel,
  urlOf,
  write,
  type MonitorEdit,
} from './writes.ts';

const EDITS_APART_MS = 12_000;
const RELABELS_APART_MS = 4_000;
/** Channels take turns, so that most status changes are far from an edit of one of their channels. */
const RESCOPES_APART_MS = 25_000;
const TRIGGERS_APART_MS = 5_000;
/** Most windows end at their planned time. */
const WINDOW_FATES = ['ends', 'ends', 'ends', 'end', 'delete'] as const;
const WINDOW_MS = [24_000, 36_000] as const;
/** Time from a request to the start of its maintenance. */
const MAINTENANCE_IN_MS = 2_000;
/** Windows overlap and share these numbers of monitors. */
const MAINTAINED = { monitors: 6, each: 3 } as const;

type Call = (random: Random, index: number) => Promise<void>;

/** The requests of people and programs during a campaign. Each write is repeated until it has a response. */
export class Traffic {
  readonly #scene: Scene;
  readonly #world: World;
  readonly #seed: number;
  readonly #windowMs: number;
  readonly #startedAt = Date.now();

  constructor(scene: Scene, world: World, seed: number, windowMs: number) {
    this.#scene = scene;
    this.#world = world;
    this.#seed = seed;
    this.#windowMs = windowMs;
  }

  /** Resolves when all requests have been sent. */
  async send(): Promise<void> {
    const [kept, tuned] = [this.#withFate('kept'), this.#withFate('tuned')];
    await Promise.all([
      this.#editMonitors(kept, tuned),
      this.#changeChannels(),
      this.#maintain(kept),
      this.#repeat('trigger', TRIGGERS_APART_MS, (random) =>
        trigger(this.#scene, random.pick([...kept, ...tuned]), random.chance(0.25)),
      ),
    ]);
  }

  #withFate(fate: string): string[] {
    return this.#world.monitors.filter((monitor) => monitor.fate === fate).map(({ key }) => key);
  }

  async #until(atMs: number): Promise<void> {
    await wait(Math.max(0, this.#startedAt + atMs - Date.now()));
  }

  /** Sends one request in each interval of this length. */
  async #repeat(name: string, apartMs: number, call: Call): Promise<void> {
    const random = new Random(this.#seed, name);
    for (let index = 0; (index + 1) * apartMs <= this.#windowMs; index += 1) {
      await this.#until((index + random.next()) * apartMs);
      await call(random, index);
    }
  }

  async #editMonitors(kept: readonly string[], tuned: readonly string[]): Promise<void> {
    const { registry } = this.#scene;
    const moved = this.#withFate('moved');
    const edit = (key: string, fields: MonitorEdit): Promise<void> =>
      write(this.#scene, editMonitor(registry.monitor(key), fields));
    const random = new Random(this.#seed, 'deletions');
    await Promise.all([
      this.#repeat('rename', EDITS_APART_MS, (own, index) =>
        edit(own.pick(kept), { name: `renamed ${index}` }),
      ),
      this.#repeat('tune', EDITS_APART_MS, (own) =>
        edit(own.pick(tuned), { failureThreshold: own.integer(1, 3) }),
      ),
      this.#repeat('move', 2 * EDITS_APART_MS, (own, index) => {
        const key = own.pick(moved);
        return edit(key, { url: urlOf(this.#scene, registry.monitor(key).plan, index + 2) });
      }),
      // Monitors take turns, because a late transaction must not undo a later edit.
      this.#repeat('relabel', RELABELS_APART_MS, (own, index) =>
        edit([...kept, ...tuned][index % (kept.length + tuned.length)] ?? '', { labels: own.pick(LABELS) }),
      ),
      ...this.#withFate('deleted').map(async (key) => {
        await this.#until(random.integer(Math.round(this.#windowMs / 3), this.#windowMs));
        await write(this.#scene, deleteMonitor(registry.monitor(key)));
      }),
    ]);
  }

  async #changeChannels(): Promise<void> {
    const { channels } = this.#world;
    const rescoped = channels.filter(({ key, scope }) => scope !== undefined && key !== FAULTY_CHANNEL);
    const random = new Random(this.#seed, 'toggles');
    await Promise.all([
      this.#repeat('rescope', RESCOPES_APART_MS, (own, index) => {
        const key = rescoped[index % rescoped.length]?.key ?? '';
        return write(this.#scene, rescopeChannel(this.#scene, key, own.pick(SCOPES)));
      }),
      ...channels
        .filter(({ kind }) => kind === 'toggled')
        .map(async ({ key }) => {
          const disabledAt = random.integer(5_000, Math.round(this.#windowMs / 2));
          await this.#until(disabledAt);
          const { id } = this.#scene.registry.channel(key);
          await this.#scene.api.request('PATCH', `${CHANNELS_PATH}/${id}`, { enabled: false });
          await this.#until(disabledAt + random.integer(8_000, 20_000));
          await enableChannel(this.#scene, id);
        }),
    ]);
  }

  async #maintain(kept: readonly string[]): Promise<void> {
    const random = new Random(this.#seed, 'maintenance');
    const maintained = random.shuffle(kept).slice(0, MAINTAINED.monitors);
    const windows = random.shuffle(WINDOW_FATES).map(async (fate, index) => {
      const lastsMs = random.integer(...WINDOW_MS);
      // All of them end before the faults do.
      const atMs = random.integer(2_000, this.#windowMs - lastsMs);
      const monitors = random.shuffle(maintained).slice(0, MAINTAINED.each);
      const cutMs = atMs + random.integer(8_000, lastsMs - 6_000);
      await this.#until(atMs);
      const startsAt = Date.now() + MAINTENANCE_IN_MS;
      const window = { key: `planned-${index}`, monitors, startsAt, endsAt: startsAt + lastsMs };
      await write(this.#scene, planMaintenance(this.#scene, window));
      if (fate === 'ends') return;
      await this.#until(cutMs);
      await cutMaintenance(this.#scene, window.key, fate);
    });
    await Promise.all(windows);
  }
}
