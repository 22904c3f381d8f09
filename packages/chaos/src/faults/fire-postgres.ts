import { setTimeout as wait } from 'node:timers/promises';
import type { ServiceName } from '@tocsin/lab/service-process';
import type { Client } from 'pg';
import type { Slot } from '../lab/slot.ts';
import type { FaultAction } from '../plan/fault-kinds.ts';
import { readReadiness } from '../run/readiness.ts';
import type { Scene } from '../run/scene.ts';
import type { Firing } from './fire-fault.ts';
import { isSeen } from './is-seen.ts';

type PostgresFault = Extract<FaultAction, { type: 'postgres' }>['what'];

const READY_WITHIN_MS = 30_000;
const TOO_MANY_CONNECTIONS = '53300';
const TRY_EVERY_MS = 50;
/** Connections that are asked for at the same time. */
const GREEDY = 5;

/** Takes Postgres, its connections or its writability away for a while. */
export async function firePostgres(scene: Scene, what: PostgresFault, lastsMs: number): Promise<Firing> {
  const { stores } = scene;
  const firedAt = Date.now();
  switch (what) {
    case 'restart':
    case 'crash':
      await stores.endPostgres(what === 'crash' ? 'crash' : 'clean');
      await wait(lastsMs);
      await stores.startPostgres();
      break;
    case 'standby':
      return serveAsStandby(scene, lastsMs);
    case 'terminate':
      await endSessions(scene);
      break;
    case 'exhaust':
      return exhaust(scene, lastsMs);
  }
  return { firedAt, endedAt: Date.now() };
}

/**
 * As after a failover that is not complete: Postgres only reads, until a replica of each service said that it is not ready. Not before
 * one of each is ready: an api cannot start meanwhile, and one try after another would keep it from ever starting.
 */
async function serveAsStandby({ stores, slots, deadline }: Scene, lastsMs: number): Promise<Firing> {
  const services = [...new Set(slots.map(({ plan }) => plan.service))];
  const readyBy = Date.now() + READY_WITHIN_MS;
  const areReady = await Promise.all(
    services.map((service) => isSeen(readyBy, () => isOneReady(slots, service, true))),
  );
  if (areReady.includes(false)) return { missed: 'a service was never ready' };
  const firedAt = Date.now();
  await stores.endPostgres('clean');
  await stores.startPostgresAsStandby();
  const isNoticed = await Promise.all([
    wait(lastsMs).then(() => true),
    ...services.map((service) => isSeen(deadline, () => isOneReady(slots, service, false))),
  ]);
  await stores.promotePostgres();
  if (isNoticed.every((seen) => seen)) return { firedAt, endedAt: Date.now() };
  return { missed: 'a service never said that it was not ready' };
}

async function isOneReady(
  slots: readonly Slot[],
  service: ServiceName,
  isReadyExpected: boolean,
): Promise<boolean> {
  const running = slots.filter(({ plan, isReady }) => plan.service === service && isReady);
  return (await Promise.all(running.map(readReadiness))).includes(isReadyExpected);
}

/** Ends the sessions of all services. @throws Error where there are none */
async function endSessions({ stores, slots }: Scene): Promise<void> {
  const ended = await stores.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = any($1)',
    [slots.map(({ name }) => name)],
  );
  if (ended.length === 0) throw new Error('no service had a session');
}

/** Takes every connection that is free, and then those of the services, for so long. */
async function exhaust(scene: Scene, lastsMs: number): Promise<Firing> {
  const { stores, deadline } = scene;
  const taken: Client[] = [];
  let firedAt: number | null = null;
  const isOver = (): boolean => Date.now() > (firedAt === null ? deadline : firedAt + lastsMs);
  const grab = async (): Promise<void> => {
    while (!isOver()) {
      try {
        taken.push(await stores.connect('chaos greedy'));
      } catch (error) {
        const isFull = (error as { code?: string }).code === TOO_MANY_CONNECTIONS;
        if (isFull && firedAt === null) {
          firedAt = Date.now();
          // Services that keep what they have would not notice.
          await endSessions(scene).catch(() => undefined);
        }
        await wait(TRY_EVERY_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: GREEDY }, grab));
  await Promise.all(taken.map((client) => client.end().catch(() => undefined)));
  if (firedAt === null) return { missed: 'Postgres never ran out of connections' };
  return { firedAt, endedAt: Date.now() };
}
