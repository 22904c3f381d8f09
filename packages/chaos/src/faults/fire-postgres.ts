import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from 'pg';
import type { FaultAction } from '../plan/fault-kinds.ts';
import type { Scene } from '../run/scene.ts';
import type { Firing } from './fire-fault.ts';

type PostgresFault = Extract<FaultAction, { type: 'postgres' }>['what'];

const TOO_MANY_CONNECTIONS = '53300';
const TRY_EVERY_MS = 50;
/** Connections that are asked for at the same time. */
const GREEDY = 5;

/** Takes Postgres away for a while, or its connections. */
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
    case 'terminate':
      await stores.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where backend_type = 'client backend' and pid <> pg_backend_pid()`,
      );
      break;
    case 'exhaust':
      return exhaust(scene, lastsMs);
  }
  return { firedAt, endedAt: Date.now() };
}

/** Takes every connection that is free, and those that become free, for so long. */
async function exhaust({ stores, deadline }: Scene, lastsMs: number): Promise<Firing> {
  const taken: Client[] = [];
  let firedAt: number | null = null;
  const isOver = (): boolean => Date.now() > (firedAt === null ? deadline : firedAt + lastsMs);
  const grab = async (): Promise<void> => {
    while (!isOver()) {
      try {
        taken.push(await stores.connect('chaos greedy'));
      } catch (error) {
        if ((error as { code?: string }).code === TOO_MANY_CONNECTIONS) firedAt ??= Date.now();
        await wait(TRY_EVERY_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: GREEDY }, grab));
  await Promise.all(taken.map((client) => client.end().catch(() => undefined)));
  if (firedAt === null) return { missed: 'Postgres never ran out of connections' };
  return { firedAt, endedAt: Date.now() };
}
