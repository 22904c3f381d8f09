import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { AppError } from '@tocsin/contracts/errors';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { monitorSetSchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { WEBHOOK_EVENTS, type WebhookEvent } from '@tocsin/contracts/vocabulary';
import { type Actor, systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel, deleteChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { settleMaintenance } from '@tocsin/db/maintenance-windows/settle-maintenance';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/write-windows';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { sql } from 'drizzle-orm';
import { checkOf, failureOf, makeMonitor, openTestContext, readClock, type TestContext } from './harness.ts';
import { tick } from './maintenance-harness.ts';

let context: TestContext;
let actor: Actor;
beforeAll(async () => {
  context = await openTestContext();
  actor = systemActor(context.accountId);
});
afterAll(() => context.close());
beforeEach(async () => {
  await context.db.execute(
    sql`truncate monitors, channels, maintenance_windows, status_changes, deliveries cascade`,
  );
});

/** Deterministic choices, so that a failure can be repeated. */
class Choices {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  some<T>(list: readonly T[]): T[] {
    return list.filter(() => this.below(2) === 1);
  }
}

const VALUES = ['a', 'b', ''];
const KEYS = ['app', 'example.com/tier', 'constructor'];

function someLabels(choices: Choices): Record<string, string> {
  return Object.fromEntries(choices.some(KEYS).map((key) => [key, choices.of(VALUES)]));
}

function someSelector(choices: Choices): Selector | null {
  if (choices.below(4) === 0) return null;
  const isSparse = choices.below(2) === 0;
  const matchExpressions = (isSparse ? [choices.of(KEYS)] : choices.some(KEYS)).map((key) => {
    const operator = choices.of(['In', 'NotIn', 'Exists', 'DoesNotExist'] as const);
    const values = operator === 'In' || operator === 'NotIn' ? [choices.of(VALUES), choices.of(VALUES)] : [];
    return { key, operator, values };
  });
  const matchLabels = choices.below(3) === 0 ? someLabels(choices) : {};
  return choices.of<Selector>([{ matchLabels, matchExpressions }, { matchExpressions }, { matchLabels }, {}]);
}

/** A second implementation of selectors: by the set of a monitor's labels as text. */
function isSelected(selector: Selector | null, labels: Labels): boolean {
  if (selector === null) return false;
  const has = new Set(Object.entries(labels).map(([key, value]) => `${key}=${value}`));
  const hasKey = (key: string): boolean => VALUES.some((value) => has.has(`${key}=${value}`));
  const failed = [
    ...Object.entries(selector.matchLabels ?? {}).filter(([key, value]) => !has.has(`${key}=${value}`)),
    ...(selector.matchExpressions ?? []).filter(({ key, operator, values }) => {
      if (operator === 'Exists') return !hasKey(key);
      if (operator === 'DoesNotExist') return hasKey(key);
      const isIn = (values ?? []).some((value) => has.has(`${key}=${value}`));
      return operator === 'In' ? !isIn : isIn;
    }),
  ];
  return failed.length === 0;
}

interface Scope {
  readonly selector: Selector | null;
  readonly monitorIds: string[];
  readonly events: WebhookEvent[] | null;
}

function someScope(choices: Choices, monitorIds: readonly string[]): Scope {
  const listed = choices.below(3) === 0 ? choices.some(monitorIds).slice(0, 3) : [];
  const events = choices.below(3) === 0 ? choices.some(WEBHOOK_EVENTS) : [];
  return {
    selector: someSelector(choices),
    monitorIds: listed,
    events: events.length > 0 ? events : null,
  };
}

function receives(scope: Scope | null, id: string, labels: Labels, event: string): boolean {
  if (scope === null) return false;
  const hasEvent = scope.events?.some((one) => one === event) ?? true;
  return hasEvent && (scope.monitorIds.includes(id) || isSelected(scope.selector, labels));
}

/** Something before and after a round of concurrent changes; null: it does not exist. */
interface Versions<Of> {
  before: Of | null;
  after: Of | null;
}

/** The monitors and channels as they were written. No two changes of a round concern the same monitor or channel. */
class World {
  readonly monitors = new Map<string, Versions<Labels>>();
  readonly channels = new Map<string, Versions<Scope>>();
  readonly #choices: Choices;
  #isDown = new Set<string>();

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  async addMonitor(): Promise<void> {
    const labels = someLabels(this.#choices);
    const { id } = await makeMonitor(context, { labels });
    this.monitors.set(id, { before: null, after: labels });
  }

  async addChannel(): Promise<void> {
    const scope = someScope(this.#choices, idsOf(this.monitors));
    const fields = { name: 'ops', url: 'https://hooks.example/a', ...scope };
    const { id } = await createChannel(context, actor, fields);
    this.channels.set(id, { before: null, after: scope });
  }

  /** Gives the monitors of a source other labels, adds some and deletes some. */
  async applySet(): Promise<void> {
    const labels = new Map(
      this.#choices.some(['x', 'y', 'z']).map((key) => [key, someLabels(this.#choices)]),
    );
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
    const isOfSet = (await context.db.execute(sql`select from monitors where id = ${id} and source = 'set'`))
      .rowCount;
    if (isOfSet !== 0) return;
    const labels = this.#choices.below(4) === 0 ? null : someLabels(this.#choices);
    await (labels === null
      ? deleteMonitor(context.db, actor, id)
      : updateMonitor(context, actor, id, { labels }, 'default'));
    setAfter(this.monitors, id, labels);
  }

  async changeChannel(id: string): Promise<void> {
    if (this.#choices.below(5) === 0) {
      await deleteChannel(context.db, actor, id);
      return setAfter(this.channels, id, null);
    }
    const scope = someScope(this.#choices, idsOf(this.monitors));
    const fields = this.#choices.some(Object.keys(scope) as (keyof Scope)[]);
    const update = Object.fromEntries(fields.map((field) => [field, scope[field]]));
    await updateChannel(context.db, actor, id, update);
    setAfter(this.channels, id, { ...(this.channels.get(id)?.before ?? scope), ...update });
  }

  /** Fails a monitor that is up, or lets one recover. */
  async changeStatus(id: string): Promise<void> {
    const isDown = this.#isDown.has(id);
    const [outcome] = await recordChecks(context.db, [isDown ? checkOf(id) : failureOf(id)]);
    if (outcome?.kind !== 'recorded') return;
    if (isDown) this.#isDown.delete(id);
    else this.#isDown.add(id);
  }

  /** Some changes at once. */
  async change(): Promise<void> {
    const monitorIds = idsOf(this.monitors);
    const [channels, relabeled] = [idsOf(this.channels), this.#choices.some(monitorIds).slice(0, 3)];
    const running = [
      this.addMonitor(),
      this.addChannel(),
      this.applySet(),
      ...relabeled.map((id) => this.changeMonitor(id)),
      ...monitorIds.map((id) => this.changeStatus(id)),
      ...this.#choices
        .some(channels)
        .slice(0, 3)
        .map((id) => this.changeChannel(id)),
      dispatchStatusChanges(context.db, { limit: 100 }),
    ];
    for (const result of await Promise.allSettled(running)) {
      // A channel lists a monitor that was deleted just before.
      const isRefused = result.status === 'rejected' && result.reason instanceof AppError;
      if (result.status === 'rejected' && !isRefused) throw result.reason;
    }
    await dispatchStatusChanges(context.db, { limit: 1_000 });
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

interface Change extends Record<string, unknown> {
  readonly id: string;
  readonly monitorId: string;
  readonly event: string;
  readonly receivers: readonly string[];
}

/** The webhook events of the status changes that are not yet known, with the channels of their deliveries. */
async function readNewEvents(known: Set<string>): Promise<Change[]> {
  const { rows } = await context.db.execute<Change>(sql`
    select s.id, s.monitor_id as "monitorId", e.value ->> 'event' as event, array(
        select d.channel_id::text from deliveries d where d.status_change_id = s.id and d.event = e.value ->> 'event'
      ) as receivers
    from status_changes s cross join jsonb_array_elements(s.webhook_events) as e (value)`);
  const found = rows.filter(({ id }) => !known.has(id));
  for (const { id } of found) known.add(id);
  return found;
}

test.each([1, 2, 3])(
  'an event goes to the channels that select or list its monitor: seed %i',
  async (seed) => {
    const world = new World(new Choices(seed));
    for (let count = 0; count < 6; count += 1) await Promise.all([world.addMonitor(), world.addChannel()]);
    world.endRound();
    const known = new Set<string>();
    const certain = { received: 0, notReceived: 0 };
    for (let round = 0; round < 12; round += 1) {
      await world.change();
      for (const { monitorId, event, receivers } of await readNewEvents(known)) {
        const { before = null, after = null } = world.monitors.get(monitorId) ?? {};
        const labels = [before, after].filter((one) => one !== null);
        for (const [id, scope] of world.channels) {
          // A change of the same round comes before or after the status change.
          const scopes = [scope.before, scope.after];
          const options = labels.flatMap((one) =>
            scopes.map((each) => receives(each, monitorId, one, event)),
          );
          const isReceived = receivers.includes(id);
          expect({ event, monitorId, id, isReceived: options }).toMatchObject({
            isReceived: expect.arrayContaining([isReceived]),
          });
          if (!options.includes(false)) certain.received += 1;
          if (!options.includes(true)) certain.notReceived += 1;
        }
      }
      world.endRound();
    }
    expect(certain.received).toBeGreaterThan(100);
    expect(certain.notReceived).toBeGreaterThan(100);
  },
);

test.each([4, 5])(
  'a running window covers what it selects, whatever was relabeled: seed %i',
  async (seed) => {
    const choices = new Choices(seed);
    const world = new World(choices);
    for (let count = 0; count < 6; count += 1) await world.addMonitor();
    world.endRound();
    const selector: Selector = { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['a'] }] };
    await createMaintenanceWindow(context.db, actor, {
      name: 'Deployment',
      startsAt: new Date((await readClock(context)) - 1),
      endsAt: new Date(Date.now() + 3_600_000),
      monitorIds: [],
      selector,
      rrule: null,
      timeZone: 'UTC',
    });
    for (let round = 0; round < 8; round += 1) {
      const relabeled = idsOf(world.monitors).map((id) => world.changeMonitor(id));
      await Promise.all([...relabeled, world.addMonitor(), settleMaintenance(context.db)]);
      world.endRound();
      await tick(context);
      const { rows } = await context.db.execute<{ id: string }>(
        sql`select id from monitors where status = 'MAINTENANCE'`,
      );
      const expected = [...world.monitors].filter(
        ([, { after }]) => after !== null && isSelected(selector, after),
      );
      expect(rows.map(({ id }) => id).toSorted()).toEqual(expected.map(([id]) => id).toSorted());
    }
  },
);
