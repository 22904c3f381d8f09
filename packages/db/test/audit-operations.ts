import { randomUUID } from 'node:crypto';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { channelSetEntrySchema } from '@tocsin/contracts/channels/channel';
import { monitorSetEntrySchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { createApiKey, deleteApiKey, ensureApiKey } from '@tocsin/db/api-keys/api-keys';
import { type Actor, systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { revealChannelSecret, rotateChannelSecret } from '@tocsin/db/channels/channel-secrets';
import {
  createChannel,
  deleteChannel,
  disableExhaustedChannels,
  updateChannel,
} from '@tocsin/db/channels/write-channels';
import type { DbContext } from '@tocsin/db/database/open';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
  endMaintenance,
  updateMaintenanceWindow,
} from '@tocsin/db/maintenance-windows/write-windows';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import { createMonitor } from '@tocsin/db/monitors/create-monitors';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { setCanaries } from '@tocsin/db/regions/canaries';
import { acceptInvitation, createInvitation, deleteInvitation } from '@tocsin/db/users/invitations';
import { recordFailedSignIn, recordPasswordChange, recordSignIn } from '@tocsin/db/users/sign-ins';
import { createUser, deleteUser, setUserRole } from '@tocsin/db/users/users';
import { sql } from 'drizzle-orm';

/** Every secret contains it. */
export const MARK = 'M4RKED';
const HOUR_MS = 3_600_000;
const SOURCES = ['shop', 'blog'] as const;

/** Draws numbers that are a function of a seed (mulberry32). */
export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) >>> 0;
    let value = this.#state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) % end;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError('cannot pick from an empty list');
    return item;
  }

  some<Item>(items: readonly Item[]): Item[] {
    return items.filter(() => this.below(3) === 0);
  }
}

/** What operations need of the world. */
export interface World extends DbContext {
  readonly accountId: string;
  /** Raw keys and secrets that the service returned: none may be in the log. */
  readonly returned: string[];
}

type Operation = (world: World, draw: Draw, actor: Actor) => Promise<unknown>;

async function idsOf({ db, accountId }: World, table: string): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(
    sql`select id from ${sql.identifier(table)} where account_id = ${accountId} order by id`,
  );
  return rows.map(({ id }) => id);
}

/** The id of a row, often one that another operation deletes meanwhile; a new id if there is none. */
async function pickId(world: World, draw: Draw, table: string): Promise<string> {
  const ids = await idsOf(world, table);
  return ids.length === 0 ? randomUUID() : draw.pick(ids);
}

/** Mostly the same few values, so that some updates change nothing. */
const monitorFields = (draw: Draw) => ({
  name: `Monitor ${draw.below(4)}`,
  url: `https://shop.example/${draw.below(3)}`,
  interval: draw.pick([30, 60]),
  method: 'POST' as const,
  headers: draw.pick([null, { Authorization: `${MARK} ${draw.below(3)}` }, { 'X-Key': MARK, Accept: MARK }]),
  body: draw.pick([null, `${MARK} ${draw.below(3)}`]),
  labels: draw.pick([{}, { app: 'shop' }, { app: 'blog', tier: 'web' }]),
  assertions: draw.pick([null, { statusCode: 200, bodyContains: 'ok' }]),
});

function partOf<Fields extends object>(draw: Draw, fields: Fields): Partial<Fields> {
  return Object.fromEntries(draw.some(Object.entries(fields))) as Partial<Fields>;
}

const channelFields = (draw: Draw) => ({
  name: `Channel ${draw.below(4)}`,
  url: `https://hooks.example/${draw.below(3)}`,
  selector: draw.pick([null, { matchLabels: { app: 'shop' } }, {}]),
  events: draw.pick([null, ['monitor.down' as const]]),
  allMonitors: draw.below(2) === 0,
});

function windowFields(draw: Draw) {
  const startsAt = new Date(Date.now() + draw.pick([-2, 2]) * HOUR_MS);
  return {
    name: `Window ${draw.below(4)}`,
    startsAt,
    endsAt: new Date(startsAt.getTime() + 4 * HOUR_MS),
    selector: draw.pick([null, { matchLabels: { app: 'shop' } }]),
    allMonitors: draw.below(2) === 0,
    rrule: draw.pick([null, 'FREQ=WEEKLY']),
    timeZone: draw.pick(['UTC', 'Europe/Berlin']),
  };
}

const MONITORS: readonly Operation[] = [
  (world, draw, actor) =>
    createMonitor(world, actor, createMonitorSchema.parse(monitorFields(draw)), 'default'),
  async (world, draw, actor) =>
    updateMonitor(
      world,
      actor,
      await pickId(world, draw, 'monitors'),
      partOf(draw, monitorFields(draw)),
      'default',
    ),
  async (world, draw, actor) => deleteMonitor(world.db, actor, await pickId(world, draw, 'monitors')),
  (world, draw, actor) => {
    const source = draw.pick(SOURCES);
    const names = draw.some(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']).map((name) => `${source}-${name}`);
    const monitors = names.map((externalId) =>
      monitorSetEntrySchema.parse({ ...monitorFields(draw), externalId }),
    );
    const channels = draw.some(['a', 'b', 'c']).map((name) =>
      channelSetEntrySchema.parse({
        ...channelFields(draw),
        externalId: `${source}-${name}`,
        monitorExternalIds: draw.some(names),
        ...partOf(draw, { secret: `whsec_${MARK.repeat(8)}` }),
      }),
    );
    const set = {
      source,
      monitors,
      prune: draw.below(2) === 0,
      dryRun: draw.below(10) === 0,
      ...(draw.below(2) === 0 && { channels }),
    };
    return applySet(world, actor, set, 'default');
  },
];

const CHANNELS: readonly Operation[] = [
  async (world, draw, actor) => {
    const monitorIds = draw.some(await idsOf(world, 'monitors'));
    const { secret } = await createChannel(world, actor, { ...channelFields(draw), monitorIds });
    world.returned.push(secret);
  },
  async (world, draw, actor) => {
    const monitorIds = draw.some(await idsOf(world, 'monitors'));
    const fields = { ...channelFields(draw), enabled: draw.below(2) === 0, monitorIds };
    return updateChannel(world.db, actor, await pickId(world, draw, 'channels'), partOf(draw, fields));
  },
  async (world, draw, actor) => deleteChannel(world.db, actor, await pickId(world, draw, 'channels')),
  async (world, draw, actor) => {
    const { secret } = await rotateChannelSecret(world, actor, await pickId(world, draw, 'channels'));
    world.returned.push(secret);
  },
  async (world, draw, actor) => {
    await revealChannelSecret(world, actor, await pickId(world, draw, 'channels'));
  },
  async (world, draw) => {
    const id = await pickId(world, draw, 'channels');
    await world.db.execute(sql`
      update channels set failing_since = now() - interval '80 hours', last_failed_at = now() where id = ${id}`);
    return disableExhaustedChannels(world.db);
  },
];

const WINDOWS: readonly Operation[] = [
  async (world, draw, actor) => {
    const monitorIds = draw.some(await idsOf(world, 'monitors'));
    return createMaintenanceWindow(world.db, actor, { ...windowFields(draw), monitorIds });
  },
  async (world, draw, actor) => {
    const fields = { ...windowFields(draw), monitorIds: draw.some(await idsOf(world, 'monitors')) };
    const id = await pickId(world, draw, 'maintenance_windows');
    return updateMaintenanceWindow(world.db, actor, id, partOf(draw, fields));
  },
  async (world, draw, actor) =>
    endMaintenance(world.db, actor, await pickId(world, draw, 'maintenance_windows')),
  async (world, draw, actor) =>
    deleteMaintenanceWindow(world.db, actor, await pickId(world, draw, 'maintenance_windows')),
];

const KEYS: readonly Operation[] = [
  async (world, draw, actor) => {
    const sources = draw.pick([null, ['shop', 'team/*']]);
    const expiresAt = draw.pick([null, new Date(Date.now() + HOUR_MS)]);
    const { key } = await createApiKey(world.db, actor, { name: `Key ${draw.below(4)}`, sources, expiresAt });
    world.returned.push(key);
  },
  async (world, draw) => {
    const key = `tocsin_live_${String(draw.below(3)).repeat(48)}`;
    world.returned.push(key);
    return ensureApiKey(world.db, systemActor(world.accountId), { name: 'BOOTSTRAP', key, scopes: 'read' });
  },
  async (world, draw, actor) => deleteApiKey(world.db, actor, await pickId(world, draw, 'api_keys')),
];

const PEOPLE: readonly Operation[] = [
  (world, draw, actor) => {
    const email = `${MARK}-${draw.below(20)}@example.com`;
    const role = draw.pick(['owner', 'member'] as const);
    const person = { name: 'Ada', email, emailVerified: true, passwordHash: `${MARK} hash` };
    return createUser(world.db, actor, { role, ...person });
  },
  async (world, draw, actor) =>
    setUserRole(world.db, actor, await pickId(world, draw, 'users'), draw.pick(['owner', 'member'] as const)),
  async (world, draw, actor) =>
    deleteUser(world.db, actor, await pickId(world, draw, 'users'), { revokeApiKeys: draw.below(2) === 0 }),
  async (world, draw, actor) => {
    const email = draw.pick([null, `${MARK}-${draw.below(20)}@example.com`]);
    const { token } = await createInvitation(world.db, actor, { role: 'member', email });
    world.returned.push(token);
    if (draw.below(3) > 0) return;
    const own = { name: 'Bob', email: `${MARK}-${draw.below(20)}@example.com`, passwordHash: 'hash' };
    await acceptInvitation(world.db, { token, ...own });
  },
  async (world, draw, actor) => deleteInvitation(world.db, actor, await pickId(world, draw, 'invitations')),
  async (world, draw) => {
    const userId = await pickId(world, draw, 'users');
    await recordSignIn(world.db, { id: randomUUID(), userId }, 'password', randomUUID());
    await recordPasswordChange(world.db, userId, randomUUID());
    await recordFailedSignIn(world.db, `${MARK}-${draw.below(20)}@example.com`, randomUUID());
  },
];

const REGIONS: readonly Operation[] = [
  async (world, draw, actor) =>
    setCanaries(world.db, actor, 'default', draw.some(await idsOf(world, 'monitors')).slice(0, 10)),
];

const GROUPS = [MONITORS, CHANNELS, WINDOWS, KEYS, PEOPLE, REGIONS];

/** Does something that an actor may do. */
export async function operate(world: World, draw: Draw): Promise<unknown> {
  const { accountId } = world;
  const userId = await pickId(world, draw, 'users');
  const actor = draw.pick([
    systemActor(accountId),
    {
      ...systemActor(accountId),
      type: 'apiKey' as const,
      id: randomUUID(),
      name: 'CI',
      requestId: randomUUID(),
    },
    userActor(accountId, userId, 'Ada'),
  ]);
  return draw.pick(draw.pick(GROUPS))(world, draw, actor);
}
