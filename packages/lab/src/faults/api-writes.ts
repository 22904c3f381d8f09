import { FAULTY_CHANNEL, LABELS, plainMonitor, SCOPES, type MonitorPlan } from '../load/world-plan.ts';
import {
  createMonitor,
  deleteMonitor,
  editMonitor,
  planMaintenance,
  redeliver,
  rescopeChannel,
  write,
  type Write,
} from '../load/writes.ts';
import type { MonitorFacts } from '../oracle/record.ts';
import type { PausePoint } from './pause-commits.ts';
import type { Scene } from './scene.ts';

/** A write during which an api is hit. */
interface ApiWrite {
  /** The transaction is paused at this point. */
  readonly point: PausePoint;
  /** Returns null if there is nothing to write to at the moment. */
  readonly prepare: (scene: Scene) => Promise<Write | null>;
}

const MAINTENANCE_MS = 30_000;

export const API_WRITES: readonly ApiWrite[] = [
  {
    point: 'insert on monitors',
    prepare: (scene) => Promise.resolve(createMonitor(scene, extraMonitor(scene))),
  },
  {
    point: 'update on monitors',
    prepare: async (scene) => {
      const monitor = await addMonitor(scene);
      return editMonitor(monitor, { name: `${monitor.plan.key} renamed` });
    },
  },
  { point: 'delete on monitors', prepare: async (scene) => deleteMonitor(await addMonitor(scene)) },
  {
    point: 'insert on channel_monitors',
    prepare: async (scene) => {
      const [labels = {}] = LABELS;
      return editMonitor(await addMonitor(scene), { labels });
    },
  },
  {
    point: 'insert on channel_monitors',
    prepare: (scene) => {
      const { plan, rescoped } = scene.registry.channel(FAULTY_CHANNEL);
      const before = rescoped.at(-1)?.value ?? plan.scope;
      const scope = SCOPES.find(({ events, selector }) => events === null && selector !== before?.selector);
      return Promise.resolve(scope ? rescopeChannel(scene, FAULTY_CHANNEL, scope) : null);
    },
  },
  {
    point: 'insert on maintenance_windows',
    prepare: async (scene) => {
      const monitors = [(await addMonitor(scene)).plan.key];
      const startsAt = Date.now() + 1_000;
      const key = scene.registry.nextKey('window');
      return planMaintenance(scene, { key, monitors, startsAt, endsAt: startsAt + MAINTENANCE_MS });
    },
  },
  {
    point: 'update on deliveries',
    // The receiver will accept it again.
    prepare: async (scene) => {
      const query = `select id from deliveries
        where channel_id = $1 and state = 'delivered' and leased_until is null order by created_at desc limit 1`;
      const values = [scene.registry.channel('steady-all').id];
      const [delivery] = await scene.stores.query<{ id: string }>(query, values).catch(() => []);
      return delivery ? redeliver(scene, delivery.id) : null;
    },
  },
];

/** Plans a monitor that no other call affects. */
function extraMonitor({ registry }: Scene): MonitorPlan {
  return plainMonitor(registry.nextKey('extra'), 'north');
}

async function addMonitor(scene: Scene): Promise<MonitorFacts> {
  const plan = extraMonitor(scene);
  await write(scene, createMonitor(scene, plan));
  return scene.registry.monitor(plan.key);
}
