import type { ApiAnswer } from '../lab/api-client.ts';
import type { HoldPoint } from '../lab/hold-commits.ts';
import type { Slot } from '../lab/slot.ts';
import type { ApiWrite } from '../plan/fault-kinds.ts';
import type { MonitorPlan } from '../plan/plan-world.ts';
import { createMonitor, monitorFields } from '../run/create-world.ts';
import { maintenanceFields, planMaintenance, WINDOWS_PATH } from '../run/maintenance.ts';
import type { KnownMonitor } from '../run/registry.ts';
import type { Scene } from '../run/scene.ts';

/** Something that one api is to be asked for, and to be hit over. */
export interface PreparedWrite {
  /** Where its transaction can be held. */
  readonly point: HoldPoint;
  /** Asks one api for it, which may be hit before it answers: nobody waits, and it never throws. */
  readonly ask: (slot: Slot) => Promise<void>;
  /** Whether Postgres has it. */
  readonly isDone: () => Promise<boolean>;
  /**
   * Asks others for it where no answer said that it is done. Where one said so, nothing is asked for again: it has to be
   * there.
   */
  readonly finish: () => Promise<void>;
}

/** A window over a monitor of its own. */
const MAINTENANCE_MS = 30_000;

/** Prepares something to ask for. @returns null where there is nothing of it just now */
export async function prepareWrite(scene: Scene, write: ApiWrite): Promise<PreparedWrite | null> {
  switch (write) {
    case 'monitor created':
      return prepareCreation(scene);
    case 'monitor updated':
      return prepareUpdate(scene, await addMonitor(scene));
    case 'monitor deleted':
      return prepareDeletion(scene, await addMonitor(scene));
    case 'maintenance planned':
      return prepareMaintenance(scene, await addMonitor(scene));
    case 'delivery redelivered':
      return prepareRedelivery(scene);
  }
}

/** One more monitor, which nothing else is done to. */
function extraMonitor({ registry }: Scene): MonitorPlan {
  return {
    key: registry.nextKey('extra'),
    failureThreshold: 2,
    intervalSeconds: 5,
    timeoutSeconds: 2,
    regions: ['north'],
    fate: 'kept',
    byName: true,
    turns: [],
    finalState: 'up',
  };
}

async function addMonitor(scene: Scene): Promise<KnownMonitor> {
  const plan = extraMonitor(scene);
  scene.registry.add(plan, await createMonitor(scene.api, plan, scene.targets.urlOf(plan)));
  return scene.registry.monitor(plan.key);
}

/** What an api says that it has made must not be lost. */
function prepareCreation(scene: Scene): PreparedWrite {
  const { api, targets, registry, stores } = scene;
  const plan = extraMonitor(scene);
  const url = targets.urlOf(plan);
  return {
    point: 'monitor created',
    ask: async (slot) => {
      const answer = await askOnce(scene, slot, 'POST', '/api/cli/monitors', monitorFields(plan, url));
      if (answer?.status !== 201) return;
      registry.promised.push({
        id: (answer.body as { monitor: { id: string } }).monitor.id,
        key: plan.key,
      });
    },
    isDone: async () =>
      (await stores.query('select from monitors where external_id = $1', [plan.key])).length > 0,
    finish: async () => registry.add(plan, await createMonitor(api, plan, url)),
  };
}

function prepareUpdate(scene: Scene, monitor: KnownMonitor): PreparedWrite {
  const name = `${monitor.plan.key} renamed`;
  // From its commit on alerts may say so.
  monitor.names.push(name);
  return writeOf(scene, {
    point: 'monitor updated',
    request: ['PUT', `/api/cli/monitors/${monitor.id}`, { name }],
    isDone: ['select from monitors where id = $1 and name = $2', [monitor.id, name]],
    onDone: () => undefined,
  });
}

function prepareDeletion(scene: Scene, monitor: KnownMonitor): PreparedWrite {
  return writeOf(scene, {
    point: 'monitor deleted',
    request: ['DELETE', `/api/cli/monitors/${monitor.id}`],
    isDone: ['select where not exists (select from monitors where id = $1)', [monitor.id]],
    onDone: () => (monitor.deletedAt = Date.now()),
  });
}

function prepareMaintenance(scene: Scene, { plan }: KnownMonitor): PreparedWrite {
  const { registry, stores } = scene;
  const key = registry.nextKey('window');
  const startsAt = Date.now() + 1_000;
  const window = { key, monitors: [plan.key], startsAt, endsAt: startsAt + MAINTENANCE_MS };
  const isKnown = (): boolean => registry.windows.some((known) => known.key === key);
  return {
    point: 'maintenance planned',
    ask: async (slot) => {
      const answer = await askOnce(scene, slot, 'POST', WINDOWS_PATH, maintenanceFields(scene, window));
      if (answer?.status === 201 && !isKnown()) registry.addWindow(window);
    },
    isDone: async () =>
      (await stores.query('select from maintenance_windows where name = $1', [key])).length > 0,
    finish: async () => {
      if (!isKnown()) await planMaintenance(scene, window);
    },
  };
}

/** What a receiver got once it gets again. */
async function prepareRedelivery(scene: Scene): Promise<PreparedWrite | null> {
  const { registry, stores } = scene;
  const [delivery] = await stores
    .query<{ id: string; attempts: number }>(
      `select id, attempt_count as attempts from deliveries where channel_id = $1 and state = 'delivered' and leased_until is null
       order by created_at desc limit 1`,
      [registry.channel('steady-all').id],
    )
    .catch(() => []);
  if (delivery === undefined) return null;
  const { id, attempts } = delivery;
  const since = Date.now();
  return writeOf(scene, {
    point: 'delivery redelivered',
    request: ['POST', `/api/dashboard/deliveries/${id}/redeliver`],
    isDone: [
      `select from deliveries where id = $1 and (state = 'pending' or attempt_count > $2)`,
      [id, attempts],
    ],
    onDone: () => registry.redelivered.push({ id, since }),
  });
}

interface PlannedWrite {
  readonly point: HoldPoint;
  readonly request: readonly [method: string, path: string, body?: object];
  /** A query that has a row when it is done. */
  readonly isDone: readonly [text: string, values: readonly unknown[]];
  readonly onDone: () => unknown;
}

function writeOf(scene: Scene, { point, request, isDone, onDone }: PlannedWrite): PreparedWrite {
  let done = false;
  const note = (answer: ApiAnswer | null): void => {
    if (answer === null || done) return;
    // What is gone already was deleted by the one that did not answer.
    const isGone = point === 'monitor deleted' && answer.status === 404;
    if (answer.status >= 300 && !isGone) return;
    done = true;
    onDone();
  };
  return {
    point,
    ask: async (slot) => note(await askOnce(scene, slot, ...request)),
    isDone: async () => (await scene.stores.query(...isDone)).length > 0,
    finish: async () => {
      if (!done) note(await scene.api.request(...request));
    },
  };
}

/** @returns null where no answer came */
async function askOnce(
  { api }: Scene,
  slot: Slot,
  method: string,
  path: string,
  body?: object,
): Promise<ApiAnswer | null> {
  return api.send(slot, method, path, body).catch(() => null);
}
