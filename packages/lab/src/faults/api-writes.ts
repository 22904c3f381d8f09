import type { ApiResponse } from '../api-client.ts';
import type { PausePoint } from './pause-commits.ts';
import type { Replica } from './replica.ts';
import { noteEdit } from '../load/registry.ts';
import {
  CHANNELS_PATH,
  createMonitor,
  maintenanceFields,
  monitorFields,
  planMaintenance,
  WINDOWS_PATH,
} from '../load/requests.ts';
import type { Scene } from './scene.ts';
import type { MonitorFacts } from '../oracle/record.ts';
import { FAULTY_CHANNEL, LABELS, plainMonitor, SCOPES, type MonitorPlan } from '../load/world-plan.ts';
import type { ApiWrite } from './fault.ts';

interface Write {
  /** The point at which its transaction can be paused. */
  readonly point: PausePoint;
  readonly request: readonly [method: string, path: string, body?: object];
  readonly isDone: readonly [query: string, values: readonly unknown[]];
  /** Called once with a response that confirms the write. */
  readonly onDone: (response: ApiResponse) => void;
  /** Defaults to the same request. */
  readonly repeat?: () => Promise<void>;
}

export interface PreparedWrite extends Pick<Write, 'point' | 'isDone'> {
  /** Sends the write to one api, which may be hit before it responds. Never throws. */
  readonly send: (replica: Replica) => Promise<void>;
  /** Repeats the write at other replicas if there was no response. */
  readonly finish: () => Promise<void>;
}

const MAINTENANCE_MS = 30_000;

/** Returns null if there is nothing to write to at the moment. */
export async function prepareWrite(scene: Scene, name: ApiWrite): Promise<PreparedWrite | null> {
  const write = await WRITES[name](scene);
  if (write === null) return null;
  const { point, request, isDone, onDone, repeat } = write;
  let done = false;
  const note = (response: ApiResponse | null): void => {
    if (response === null || done) return;
    // An earlier request without a response has deleted it.
    const isGone = name === 'monitor deleted' && response.status === 404;
    if (response.status >= 300 && !isGone) return;
    done = true;
    onDone(response);
  };
  return {
    point,
    isDone,
    send: async (replica) => note(await scene.api.send(replica, ...request).catch(() => null)),
    finish: async () => {
      if (repeat) await repeat();
      else if (!done) note(await scene.api.request(...request));
    },
  };
}

/** Plans a monitor that no other call affects. */
function extraMonitor({ registry }: Scene): MonitorPlan {
  return plainMonitor(registry.nextKey('extra'), 'north');
}

async function addMonitor(scene: Scene): Promise<MonitorFacts> {
  const plan = extraMonitor(scene);
  return scene.registry.add(plan, await createMonitor(scene, plan));
}

const WRITES: Readonly<Record<ApiWrite, (scene: Scene) => Promise<Write | null>>> = {
  'monitor created': async (scene) => {
    const { registry } = scene;
    const plan = extraMonitor(scene);
    return {
      point: 'monitor created',
      request: ['POST', '/api/cli/monitors', monitorFields(scene, plan)],
      isDone: ['select from monitors where external_id = $1', [plan.key]],
      onDone: ({ body }) => {
        registry.promised.push({ id: (body as { monitor: { id: string } }).monitor.id, key: plan.key });
      },
      repeat: async () => void registry.add(plan, await createMonitor(scene, plan)),
    };
  },
  'monitor updated': async (scene) => {
    const { id, names, plan } = await addMonitor(scene);
    const name = `${plan.key} renamed`;
    // Alerts may have this name after the commit.
    names.push(name);
    return {
      point: 'monitor updated',
      request: ['PUT', `/api/cli/monitors/${id}`, { name }],
      isDone: ['select from monitors where id = $1 and name = $2', [id, name]],
      onDone: () => undefined,
    };
  },
  'monitor deleted': async (scene) => {
    const monitor = await addMonitor(scene);
    return {
      point: 'monitor deleted',
      request: ['DELETE', `/api/cli/monitors/${monitor.id}`],
      isDone: ['select where not exists (select from monitors where id = $1)', [monitor.id]],
      onDone: () => void (monitor.deletedAt = Date.now()),
    };
  },
  'monitor relabeled': async (scene) => {
    const { id, relabeled } = await addMonitor(scene);
    const [labels = {}] = LABELS;
    const confirm = noteEdit(relabeled, labels);
    return {
      point: 'channel assigned',
      request: ['PUT', `/api/cli/monitors/${id}`, { labels }],
      isDone: ['select from monitors where id = $1 and labels = $2', [id, labels]],
      onDone: confirm,
    };
  },
  'channel rescoped': async ({ registry }) => {
    const { id, plan, rescoped } = registry.channel(FAULTY_CHANNEL);
    const before = rescoped.at(-1)?.value ?? plan.scope;
    const scope = SCOPES.find(({ events, selector }) => events === null && selector !== before?.selector);
    if (scope === undefined) return null;
    const confirm = noteEdit(rescoped, scope);
    return {
      point: 'channel assigned',
      request: ['PATCH', `${CHANNELS_PATH}/${id}`, scope],
      isDone: ['select from channels where id = $1 and selector = $2', [id, scope.selector]],
      onDone: confirm,
    };
  },
  'maintenance planned': async (scene) => {
    const { registry } = scene;
    const monitors = [(await addMonitor(scene)).plan.key];
    const startsAt = Date.now() + 1_000;
    const key = registry.nextKey('window');
    const window = { key, monitors, startsAt, endsAt: startsAt + MAINTENANCE_MS };
    return {
      point: 'maintenance planned',
      request: ['POST', WINDOWS_PATH, maintenanceFields(scene, window)],
      isDone: ['select from maintenance_windows where name = $1', [key]],
      onDone: () => registry.addWindow(window),
      repeat: async () => {
        if (registry.window(key) === undefined) await planMaintenance(scene, window);
      },
    };
  },
  /** Redelivers a delivery that its receiver will accept again. */
  'delivery redelivered': async ({ registry, stores }) => {
    const query = `select id, attempt_count as attempts from deliveries
      where channel_id = $1 and state = 'delivered' and leased_until is null order by created_at desc limit 1`;
    const [delivery] = await stores
      .query<{ id: string; attempts: number }>(query, [registry.channel('steady-all').id])
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
      onDone: () => void registry.redelivered.push({ id, since }),
    };
  },
};
