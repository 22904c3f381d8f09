import type { ApiResponse } from '@tocsin/lab/api-client';
import type { HoldPoint } from '../campaign/hold-commits.ts';
import type { KnownMonitor } from '../campaign/registry.ts';
import type { Replica } from '../campaign/replica.ts';
import {
  createMonitor,
  maintenanceFields,
  monitorFields,
  planMaintenance,
  WINDOWS_PATH,
} from '../campaign/requests.ts';
import type { Scene } from '../campaign/scene.ts';
import { plainMonitor, type MonitorPlan } from '../plan/world.ts';
import type { ApiWrite } from './fault.ts';

/** A write that one api is asked for, and hit during it. */
export interface PreparedWrite {
  /** Where its transaction can be held. */
  readonly point: HoldPoint;
  /** Asks one api, which may be hit before it responds. Never throws. */
  readonly send: (replica: Replica) => Promise<void>;
  /** Whether Postgres has it. */
  readonly isDone: () => Promise<boolean>;
  /** Repeats the write at other replicas if there was no response. What a response confirmed must exist without that. */
  readonly finish: () => Promise<void>;
}

type Request = readonly [method: string, path: string, body?: object];

interface WritePlan {
  readonly point: HoldPoint;
  readonly request: Request;
  /** A query that has a row when it is done. */
  readonly isDone: readonly [text: string, values: readonly unknown[]];
  readonly onDone: (response: ApiResponse) => unknown;
  /** By default the same request. */
  readonly repeat?: () => Promise<unknown>;
}

/** A window over a monitor of its own. */
const MAINTENANCE_MS = 30_000;

/** @returns null if there is nothing to write to at the moment */
export async function prepareWrite(scene: Scene, write: ApiWrite): Promise<PreparedWrite | null> {
  const plan = await planWrite(scene, write);
  if (plan === null) return null;
  const { point, request, isDone, onDone, repeat } = plan;
  let done = false;
  const note = (response: ApiResponse | null): void => {
    if (response === null || done) return;
    // The write without a response has deleted it.
    const isGone = write === 'monitor deleted' && response.status === 404;
    if (response.status >= 300 && !isGone) return;
    done = true;
    onDone(response);
  };
  return {
    point,
    send: async (replica) => note(await scene.api.send(replica, ...request).catch(() => null)),
    isDone: async () => (await scene.stores.query(...isDone)).length > 0,
    finish: async () => {
      if (repeat) await repeat();
      else if (!done) note(await scene.api.request(...request));
    },
  };
}

async function planWrite(scene: Scene, write: ApiWrite): Promise<WritePlan | null> {
  switch (write) {
    case 'monitor created':
      return planCreation(scene);
    case 'monitor updated':
      return planUpdate(await addMonitor(scene));
    case 'monitor deleted':
      return planDeletion(await addMonitor(scene));
    case 'maintenance planned':
      return planWindow(scene, await addMonitor(scene));
    case 'delivery redelivered':
      return planRedelivery(scene);
  }
}

/** One more monitor, which nothing else happens to. */
function extraMonitor({ registry }: Scene): MonitorPlan {
  return plainMonitor(registry.nextKey('extra'), 'north');
}

async function addMonitor(scene: Scene): Promise<KnownMonitor> {
  const plan = extraMonitor(scene);
  scene.registry.add(plan, await createMonitor(scene, plan));
  return scene.registry.monitor(plan.key);
}

/** A monitor that an api said it has created must not be lost. */
function planCreation(scene: Scene): WritePlan {
  const { registry } = scene;
  const plan = extraMonitor(scene);
  return {
    point: 'monitor created',
    request: ['POST', '/api/cli/monitors', monitorFields(scene, plan)],
    isDone: ['select from monitors where external_id = $1', [plan.key]],
    onDone: ({ body }) =>
      registry.promised.push({ id: (body as { monitor: { id: string } }).monitor.id, key: plan.key }),
    repeat: async () => registry.add(plan, await createMonitor(scene, plan)),
  };
}

function planUpdate(monitor: KnownMonitor): WritePlan {
  const name = `${monitor.plan.key} renamed`;
  // From the commit on, alerts may have it.
  monitor.names.push(name);
  return {
    point: 'monitor updated',
    request: ['PUT', `/api/cli/monitors/${monitor.id}`, { name }],
    isDone: ['select from monitors where id = $1 and name = $2', [monitor.id, name]],
    onDone: () => undefined,
  };
}

function planDeletion(monitor: KnownMonitor): WritePlan {
  return {
    point: 'monitor deleted',
    request: ['DELETE', `/api/cli/monitors/${monitor.id}`],
    isDone: ['select where not exists (select from monitors where id = $1)', [monitor.id]],
    onDone: () => (monitor.deletedAt = Date.now()),
  };
}

function planWindow(scene: Scene, { plan }: KnownMonitor): WritePlan {
  const { registry } = scene;
  const startsAt = Date.now() + 1_000;
  const window = {
    key: registry.nextKey('window'),
    monitors: [plan.key],
    startsAt,
    endsAt: startsAt + MAINTENANCE_MS,
  };
  const isKnown = (): boolean => registry.windows.some(({ key }) => key === window.key);
  return {
    point: 'maintenance planned',
    request: ['POST', WINDOWS_PATH, maintenanceFields(scene, window)],
    isDone: ['select from maintenance_windows where name = $1', [window.key]],
    onDone: () => {
      if (!isKnown()) registry.addWindow(window);
    },
    repeat: async () => {
      if (!isKnown()) await planMaintenance(scene, window);
    },
  };
}

/** Of a delivery that its receiver will accept again. */
async function planRedelivery({ registry, stores }: Scene): Promise<WritePlan | null> {
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
  return {
    point: 'delivery redelivered',
    request: ['POST', `/api/dashboard/deliveries/${id}/redeliver`],
    isDone: [
      `select from deliveries where id = $1 and (state = 'pending' or attempt_count > $2)`,
      [id, attempts],
    ],
    onDone: () => registry.redelivered.push({ id, since }),
  };
}
