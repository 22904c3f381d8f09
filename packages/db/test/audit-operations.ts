import { randomUUID } from 'node:crypto';
import type { AuditEntry } from '@tocsin/contracts/audit-log/audit-log';
import { channelSetEntrySchema } from '@tocsin/contracts/channels/channel';
import { monitorSetEntrySchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { type Actor, systemActor, userActor } from '@tocsin/db/audit-log/actor';
import { listAuditEntries } from '@tocsin/db/audit-log/read-audit-log';
import { revealChannelSecret, rotateChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { createChannel, deleteChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import type { DbContext } from '@tocsin/db/database/open';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/create-window';
import {
  deleteMaintenanceWindow,
  endMaintenance,
  updateMaintenanceWindow,
} from '@tocsin/db/maintenance-windows/write-windows';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import { createMonitor } from '@tocsin/db/monitors/create-monitors';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { setCanaries } from '@tocsin/db/regions/canaries';
import { sql } from 'drizzle-orm';
import { disableExhausted } from './delivery-steps.ts';
import type { Draw } from './draw.ts';
import { WINDOW } from './maintenance-harness.ts';

/** Every secret contains this text. */
export const MARK = 'M4RKED';
const HOUR_MS = 3_600_000;
const SOURCES = ['shop', 'blog'] as const;
const USER_ID = randomUUID();

/** State that operations need. */
export interface World extends DbContext {
  readonly accountId: string;
  /** Secrets that the service returned. None may be in the log. */
  readonly returned: string[];
}

type Operation = (world: World, draw: Draw, actor: Actor) => Promise<unknown>;

async function idsOf({ db, accountId }: World, table: string): Promise<string[]> {
  const { rows } = await db.execute<{ id: string }>(
    sql`select id from ${sql.identifier(table)} where account_id = ${accountId} order by id`,
  );
  return rows.map(({ id }) => id);
}

/** Picks the id of a row, which another operation may delete in the meantime, or a new id if there is no row. */
async function pickId(world: World, draw: Draw, table: string): Promise<string> {
  const ids = await idsOf(world, table);
  return ids.length === 0 ? randomUUID() : draw.pick(ids);
}

/** There are few values, so that some updates change nothing. */
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
    return updateChannel(world, actor, await pickId(world, draw, 'channels'), partOf(draw, fields));
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
    return disableExhausted(world);
  },
];

const WINDOWS: readonly Operation[] = [
  async (world, draw, actor) => {
    const monitorIds = draw.some(await idsOf(world, 'monitors'));
    return createMaintenanceWindow(world, actor, { ...WINDOW, ...windowFields(draw), monitorIds });
  },
  async (world, draw, actor) => {
    const fields = { ...windowFields(draw), monitorIds: draw.some(await idsOf(world, 'monitors')) };
    const id = await pickId(world, draw, 'maintenance_windows');
    return updateMaintenanceWindow(world, actor, id, partOf(draw, fields));
  },
  async (world, draw, actor) =>
    endMaintenance(world.db, actor, await pickId(world, draw, 'maintenance_windows')),
  async (world, draw, actor) =>
    deleteMaintenanceWindow(world.db, actor, await pickId(world, draw, 'maintenance_windows')),
];

const REGIONS: readonly Operation[] = [
  async (world, draw, actor) =>
    setCanaries(world.db, actor, 'default', draw.some(await idsOf(world, 'monitors')).slice(0, 10)),
];

const GROUPS = [MONITORS, CHANNELS, WINDOWS, REGIONS];

/** Performs a random operation of a user or the service. */
export async function operate(world: World, draw: Draw): Promise<unknown> {
  const { accountId } = world;
  const actor = draw.pick([systemActor(accountId), userActor(accountId, USER_ID, 'Ada')]);
  return draw.pick(draw.pick(GROUPS))(world, draw, actor);
}

/** Reads every entry of the audit log by `since`, until it finds none after the writers have finished. */
export async function tailAuditLog(
  { db, accountId }: Pick<World, 'db' | 'accountId'>,
  isDone: () => boolean,
): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (;;) {
    const wasDone = isDone();
    const since = entries.at(-1)?.timestamp ?? '0001-01-01T00:00:00.000000Z';
    const page = await listAuditEntries(db, accountId, { limit: 20, since });
    entries.push(...page);
    if (page.length === 0 && wasDone) return entries;
  }
}
