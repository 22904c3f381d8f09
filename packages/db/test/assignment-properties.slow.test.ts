import { beforeEach, expect, test } from '@jest/globals';
import { AppError } from '@tocsin/contracts/errors';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { matchesSelector } from '@tocsin/contracts/labels/selector-syntax';
import { monitorSetSchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { createChannel, deleteChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { sql } from 'drizzle-orm';
import { Draw } from './draw.ts';
import { checkOf, editMonitor, failureOf, makeMonitor, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, actor } = context;

beforeEach(async () => {
  await db.execute(sql`truncate monitors, channels, maintenance_windows, status_changes, deliveries cascade`);
});

const VALUES = ['a', 'b', ''];
const KEYS = ['app', 'example.com/tier', 'constructor'];

function someLabels(draw: Draw): Record<string, string> {
  return Object.fromEntries(draw.some(KEYS, 2).map((key) => [key, draw.pick(VALUES)]));
}

function someSelector(draw: Draw): Selector | null {
  const matchExpressions = draw.some(KEYS, 2).map((key) => {
    const operator = draw.pick(['In', 'NotIn', 'Exists', 'DoesNotExist'] as const);
    const values = operator === 'In' || operator === 'NotIn' ? [draw.pick(VALUES), draw.pick(VALUES)] : [];
    return { key, operator, values };
  });
  return draw.pick([null, { matchLabels: someLabels(draw) }, { matchExpressions }, {}]);
}

interface Scope {
  readonly selector: Selector | null;
  readonly monitorIds: string[];
}

function someScope(draw: Draw, monitorIds: readonly string[]): Scope {
  return { selector: someSelector(draw), monitorIds: draw.some(monitorIds, 6).slice(0, 3) };
}

function receives(scope: Scope | null, id: string, labels: Labels): boolean {
  if (scope === null) return false;
  const { selector, monitorIds } = scope;
  return monitorIds.includes(id) || (selector !== null && matchesSelector(selector, labels));
}

/** A value before and after a round of concurrent changes. Null if it does not exist. */
interface Versions<Of> {
  before: Of | null;
  after: Of | null;
}

/** Expected monitors and channels. No two changes of a round concern the same monitor or channel. */
class World {
  readonly monitors = new Map<string, Versions<Labels>>();
  readonly channels = new Map<string, Versions<Scope>>();
  readonly #draw: Draw;
  #isDown = new Set<string>();

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  async addMonitor(): Promise<void> {
    const labels = someLabels(this.#draw);
    const { id } = await makeMonitor(context, { labels });
    this.monitors.set(id, { before: null, after: labels });
  }

  async addChannel(): Promise<void> {
    const scope = someScope(this.#draw, idsOf(this.monitors));
    const { id } = await createChannel(context, actor, { name: 'ops', url: 'https://a.example', ...scope });
    this.channels.set(id, { before: null, after: scope });
  }

  /** Gives the monitors of a source other labels, adds some and deletes some. */
  async applySet(): Promise<void> {
    const labels = new Map(this.#draw.some(['x', 'y', 'z'], 2).map((key) => [key, someLabels(this.#draw)]));
    const monitors = [...labels].map(([externalId, own]) => {
      return { externalId, name: externalId, url: 'https://shop.example', labels: own };
    });
    const set = monitorSetSchema.parse({ source: 'set', prune: true, monitors });
    const { result } = await applySet(context, actor, set, 'default');
    for (const { id, externalId } of [...result.created, ...result.updated]) {
      const before = this.monitors.get(id ?? '')?.before ?? null;
      this.monitors.set(id ?? '', { before, after: labels.get(externalId ?? '') ?? null });
    }
    for (const { id } of result.deleted) setAfter(this.monitors, id, null);
  }

  async changeMonitor(id: string): Promise<void> {
    const { rowCount } = await db.execute(sql`select from monitors where id = ${id} and source = 'set'`);
    if (rowCount !== 0) return;
    const labels = this.#draw.below(4) === 0 ? null : someLabels(this.#draw);
    await (labels === null ? deleteMonitor(db, actor, id) : editMonitor(context, id, { labels }));
    setAfter(this.monitors, id, labels);
  }

  async changeChannel(id: string): Promise<void> {
    const scope = this.#draw.below(5) === 0 ? null : someScope(this.#draw, idsOf(this.monitors));
    await (scope === null ? deleteChannel(db, actor, id) : updateChannel(context, actor, id, scope));
    setAfter(this.channels, id, scope);
  }

  /** Fails a monitor that is up, or lets one recover. */
  async changeStatus(id: string): Promise<void> {
    const isDown = this.#isDown.has(id);
    const [outcome] = await recordChecks(db, [isDown ? checkOf(id) : failureOf(id)]);
    if (outcome?.kind !== 'recorded') return;
    if (isDown) this.#isDown.delete(id);
    else this.#isDown.add(id);
  }

  async change(): Promise<void> {
    const monitorIds = idsOf(this.monitors);
    const relabeled = this.#draw.some(monitorIds, 2).slice(0, 3);
    const rescoped = this.#draw.some(idsOf(this.channels), 2).slice(0, 3);
    const running = [
      this.addMonitor(),
      this.addChannel(),
      this.applySet(),
      ...relabeled.map((id) => this.changeMonitor(id)),
      ...monitorIds.map((id) => this.changeStatus(id)),
      ...rescoped.map((id) => this.changeChannel(id)),
      dispatchStatusChanges(db, { limit: 100 }),
    ];
    for (const result of await Promise.allSettled(running)) {
      // A channel lists a monitor that was deleted just before.
      const isRefused = result.status === 'rejected' && result.reason instanceof AppError;
      if (result.status === 'rejected' && !isRefused) throw result.reason;
    }
    await dispatchStatusChanges(db, { limit: 1_000 });
  }

  endRound(): void {
    for (const versions of [...this.monitors.values(), ...this.channels.values()]) {
      versions.before = versions.after;
    }
  }
}

function idsOf(versions: ReadonlyMap<string, Versions<unknown>>): string[] {
  return [...versions].filter(([, { before }]) => before !== null).map(([id]) => id);
}

function setAfter<Of>(all: ReadonlyMap<string, Versions<Of>>, id: string, after: Of | null): void {
  const versions = all.get(id);
  if (versions) versions.after = after;
}

/** Reads the announced status changes that are not known yet, with the channels of their deliveries. */
async function readNewChanges(known: Set<string>): Promise<{ monitorId: string; receivers: string[] }[]> {
  const { rows } = await db.execute<{ id: string; monitorId: string; receivers: string[] }>(sql`
    select s.id, s.monitor_id as "monitorId",
      array(select distinct d.channel_id::text from deliveries d where d.status_change_id = s.id) as receivers
    from status_changes s where s.webhook_events <> '[]'`);
  const found = rows.filter(({ id }) => !known.has(id));
  for (const { id } of found) known.add(id);
  return found;
}

test.each([1, 2, 3])(
  'an alert goes to the channels that select or list its monitor: seed %i',
  async (seed) => {
    const world = new World(new Draw(seed));
    for (let count = 0; count < 6; count += 1) await Promise.all([world.addMonitor(), world.addChannel()]);
    world.endRound();
    const known = new Set<string>();
    const certain = { received: 0, notReceived: 0 };
    for (let round = 0; round < 12; round += 1) {
      await world.change();
      for (const { monitorId, receivers } of await readNewChanges(known)) {
        const { before = null, after = null } = world.monitors.get(monitorId) ?? {};
        const labels = [before, after].filter((one) => one !== null);
        for (const [id, scope] of world.channels) {
          // A change of the same round may come before or after the status change.
          const options = labels.flatMap((one) =>
            [scope.before, scope.after].map((each) => receives(each, monitorId, one)),
          );
          expect({ monitorId, id, options }).toMatchObject({
            options: expect.arrayContaining([receivers.includes(id)]),
          });
          if (!options.includes(false)) certain.received += 1;
          if (!options.includes(true)) certain.notReceived += 1;
        }
      }
      world.endRound();
    }
    expect(certain.received).toBeGreaterThan(50);
    expect(certain.notReceived).toBeGreaterThan(50);
  },
);
