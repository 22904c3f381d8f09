import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type ChannelSetEntry, channelSetEntrySchema } from '@tocsin/contracts/channels/channel';
import {
  type ChannelSetResult,
  type MonitorSet,
  type MonitorSetEntry,
  monitorSetEntrySchema,
} from '@tocsin/contracts/monitor-sets/monitor-set';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { revealChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { findChannelRow, listChannels } from '@tocsin/db/channels/read-channels';
import { createChannel, deleteChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import { type AppliedSet, applySet } from '@tocsin/db/monitor-sets/apply-set';
import { sql } from 'drizzle-orm';
import { alertOf, readDeliveryLog } from './delivery-steps.ts';
import { openTestContext, untilWaiting } from './harness.ts';

const context = await openTestContext();
const { db, accountId, actor } = context;
afterAll(() => context.close());

beforeEach(() => db.execute(sql`truncate monitors, channels, status_changes, deliveries cascade`));

const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
const OTHER_SECRET = `whsec_${Buffer.alloc(24, 2).toString('base64')}`;

const monitor = (externalId: string, fields: Partial<MonitorSetEntry> = {}): MonitorSetEntry =>
  monitorSetEntrySchema.parse({ externalId, name: externalId, url: 'https://shop.example', ...fields });
const channel = (externalId: string, fields: object = {}): ChannelSetEntry =>
  channelSetEntrySchema.parse({ externalId, name: externalId, url: 'https://hooks.example', ...fields });

function setOf(channels?: readonly ChannelSetEntry[], options: Partial<MonitorSet> = {}): MonitorSet {
  const set = { source: 'shop', monitors: [], prune: false, dryRun: false, ...options };
  return { ...set, ...(channels && { channels: [...channels] }) };
}

function apply(
  channels?: readonly ChannelSetEntry[],
  options?: Partial<MonitorSet>,
  versions: ReadonlySet<string> | null = null,
): Promise<AppliedSet> {
  return applySet(context, actor, setOf(channels, options), 'default', versions);
}

/** Applies a set with channels. @returns their result */
async function applyChannels(...given: Parameters<typeof apply>): Promise<ChannelSetResult> {
  const { result } = await apply(...given);
  if (result.channels === undefined) throw new Error('a result without channels');
  return result.channels;
}

/** Reads the configuration of each channel, with the externalIds of its monitors. */
async function stateOf(): Promise<object[]> {
  const { rows } = await db.execute(sql`
    select c.external_id as key, c.name, c.enabled,
      array(select m.external_id from channel_monitors a join monitors m on m.id = a.monitor_id
        where a.channel_id = c.id order by 1) as monitors
    from channels c where c.deleted_at is null order by 1`);
  return rows;
}

async function countMonitors(): Promise<number> {
  return (await db.execute(sql`select from monitors`)).rowCount ?? 0;
}

describe('the channels of a set', () => {
  test('are created, found unchanged, changed and pruned', async () => {
    const monitors = [monitor('front', { labels: { app: 'shop' } }), monitor('orders')];
    const entries = [
      channel('on-call', {
        selector: { matchLabels: { app: 'shop' } },
        events: ['monitor.down', 'monitor.up'],
      }),
      channel('orders', { monitorExternalIds: ['orders'] }),
      channel('all', { allMonitors: true, enabled: false }),
    ];
    const planned = await apply(entries, { monitors, dryRun: true });
    expect(planned.result).toMatchObject({ changed: true, channels: { created: [{ id: null }, {}, {}] } });
    expect(await stateOf()).toEqual([]);
    const created = await applyChannels(entries, { monitors });
    const secret: unknown = expect.stringMatching(/^whsec_/);
    const keys = ['on-call', 'orders', 'all'];
    expect(created).toMatchObject({ created: keys.map((externalId) => ({ externalId, secret })) });
    expect(await stateOf()).toEqual([
      { key: 'all', name: 'all', enabled: false, monitors: [] },
      { key: 'on-call', name: 'on-call', enabled: true, monitors: ['front'] },
      { key: 'orders', name: 'orders', enabled: true, monitors: ['orders'] },
    ]);
    const [first] = created.created;
    expect(await revealChannelSecret(context, actor, first?.id ?? '')).toBe(first?.secret);

    const { result: again } = await apply(entries, { monitors, prune: true });
    expect(again).toMatchObject({ changed: false, channels: { unchanged: [{}, {}, {}], deleted: [] } });

    const changed = await applyChannels(
      [channel('on-call', { name: 'On call', monitorExternalIds: ['orders'] }), entries[1] ?? channel('x')],
      { monitors },
    );
    const fields = ['name', 'selector', 'events', 'monitorExternalIds'];
    expect(changed.updated).toEqual([{ id: first?.id, externalId: 'on-call', fields }]);
    expect(changed.unlisted.map(({ externalId }) => externalId)).toEqual(['all']);
    expect((await stateOf())[1]).toMatchObject({ name: 'On call', monitors: ['orders'] });

    const pruned = await applyChannels([], { monitors, prune: true });
    expect(pruned.deleted).toHaveLength(3);
    expect(await stateOf()).toEqual([]);
    // The key is free again.
    expect((await applyChannels([channel('all')])).created).toHaveLength(1);
  });

  test('keep their secret and their state if an entry omits them, or the set has no channels', async () => {
    const [made] = (await applyChannels([channel('ops', { secret: SECRET })])).created;
    expect(made?.secret).toBeNull();
    const id = made?.id ?? '';
    await updateChannel(context, actor, id, { enabled: false });
    expect((await applyChannels([channel('ops')])).unchanged).toHaveLength(1);
    const { result } = await apply(undefined, { prune: true });
    expect(result).not.toHaveProperty('channels');
    expect(await revealChannelSecret(context, actor, id)).toBe(SECRET);
    expect((await applyChannels([channel('ops', { enabled: true })])).updated).toMatchObject([
      { fields: ['enabled'] },
    ]);
    expect(await findChannelRow(db, accountId, id)).toMatchObject({ enabled: true });
  });

  test('with another secret rotate it, with the usual overlap', async () => {
    const [made] = (await applyChannels([channel('ops', { secret: SECRET })])).created;
    const set = [channel('ops', { secret: OTHER_SECRET })];
    const planned = await applyChannels(set, { dryRun: true });
    expect(planned.updated).toMatchObject([{ fields: ['secret'] }]);
    expect((await applyChannels(set)).updated).toMatchObject([{ fields: ['secret'] }]);
    expect((await applyChannels(set)).unchanged).toHaveLength(1);
    const row = await findChannelRow(db, accountId, made?.id ?? '');
    expect(context.secrets.decrypt(row.sealedSecret)).toBe(OTHER_SECRET);
    expect(context.secrets.decrypt(row.sealedPreviousSecret ?? '')).toBe(SECRET);
    expect(row.previousSecretExpiresAt?.getTime()).toBeGreaterThan(Date.now());
  });

  test('whose secret no key decrypts get the given secret', async () => {
    await apply([channel('ops', { secret: SECRET })]);
    const [before] = await listChannels(db, accountId);
    const keyLost = { ...context, secrets: new SecretBox([randomBytes(32)]) };
    const set = setOf([channel('ops', { secret: SECRET })]);
    const { result } = await applySet(keyLost, actor, set, 'default');
    expect(result.channels?.updated).toMatchObject([{ id: before?.id, fields: ['secret'] }]);
    expect(await revealChannelSecret(keyLost, actor, before?.id ?? '')).toBe(SECRET);
  });

  test('of another source, or of none, are not taken over', async () => {
    await apply([channel('theirs')], { source: 'other' });
    const created = await createChannel(context, actor, {
      name: 'Made by hand',
      url: 'https://hooks.example',
      monitorIds: [],
      externalId: 'none',
    });
    const set = [channel('mine'), channel('theirs'), channel('none')];
    await expect(apply(set, { monitors: [monitor('front')] })).rejects.toMatchObject({
      code: 'conflict',
      errors: [{ path: 'channels.1.externalId' }, { path: 'channels.2.externalId' }],
    });
    expect(await countMonitors()).toBe(0);
    // After it gets the source, the set takes it over.
    await updateChannel(context, actor, created.id, { source: 'shop' });
    expect((await applyChannels([channel('none')])).updated).toMatchObject([{ fields: ['name'] }]);
  });
});

describe('monitorExternalIds', () => {
  test('may name monitors of this set and others of the account', async () => {
    await apply(undefined, { source: 'other', monitors: [monitor('theirs')] });
    await apply([channel('ops', { monitorExternalIds: ['new', 'theirs'] })], { monitors: [monitor('new')] });
    expect(await stateOf()).toMatchObject([{ monitors: ['new', 'theirs'] }]);
  });

  test.each([
    ['is unknown', ['front', 'unknown'], false],
    ['is deleted by this set', ['front', 'gone'], true],
  ])('a monitor that %s is an error, and nothing is written', async (_, monitorExternalIds, prune) => {
    await apply([channel('ops', { monitorExternalIds: ['gone'] })], { monitors: [monitor('gone')] });
    const set = [channel('first'), channel('ops', { monitorExternalIds })];
    const before = await stateOf();
    for (const dryRun of [true, false]) {
      const options = { monitors: [monitor('front')], prune, dryRun };
      await expect(apply(set, options)).rejects.toMatchObject({
        code: 'validation_failed',
        errors: [{ path: 'channels.1.monitorExternalIds.1' }],
      });
    }
    expect(await countMonitors()).toBe(1);
    expect(await stateOf()).toEqual(before);
  });
});

describe('a version', () => {
  test.each([
    ['renamed', (id: string) => updateChannel(context, actor, id, { name: 'x' })],
    ['deleted', (id: string) => deleteChannel(db, actor, id)],
  ])('is refused after a channel of the plan was %s', async (_, change) => {
    const [made] = (await applyChannels([channel('ops')])).created;
    const set = [channel('ops', { name: 'Operations' })];
    const { version } = await apply(set, { dryRun: true });
    await change(made?.id ?? '');
    await expect(apply(set, {}, new Set([version]))).rejects.toMatchObject({ code: 'precondition_failed' });
    const { version: next } = await apply(set, { dryRun: true });
    await apply(set, {}, new Set([next]));
    expect(await stateOf()).toMatchObject([{ name: 'Operations' }]);
  });
});

test('a channel that a set enables sends no deliveries that were due before', async () => {
  const set = [channel('ops', { allMonitors: true })];
  const [made] = (await applyChannels(set, { monitors: [monitor('front')] })).created;
  const [row] = (await db.execute<{ id: string }>(sql`select id from monitors`)).rows;
  await alertOf(context, row?.id ?? '', 'DOWN');
  await applyChannels([channel('ops', { allMonitors: true, enabled: false })]);
  // This is the state after a crash between disabling and holding.
  await db.execute(sql`update deliveries set state = 'pending', next_attempt_at = now()`);
  await applyChannels([channel('ops', { allMonitors: true, enabled: true })]);
  const log = await readDeliveryLog(db, made?.id ?? '');
  expect(new Set(log.map(({ state }) => state))).toEqual(new Set(['held']));
});

describe('with other requests', () => {
  test('a set waits for a channel that it changes, and plans again', async () => {
    const [made] = (await applyChannels([channel('ops')])).created;
    const set = [channel('ops', { name: 'Operations', events: ['monitor.down'] })];
    let applying: Promise<ChannelSetResult> | undefined;
    await db.transaction(async (tx) => {
      await tx.execute(sql`update channels set name = 'Operations' where id = ${made?.id}`);
      applying = applyChannels(set);
      await untilWaiting(context, 1);
    });
    expect((await applying)?.updated).toMatchObject([{ fields: ['events'] }]);
  });

  test('a set does not wait for a channel that it leaves unchanged', async () => {
    await apply([channel('ops'), channel('other')]);
    await db.transaction(async (tx) => {
      await tx.execute(sql`select from channels where external_id = 'ops' for update`);
      const changed = await applyChannels([channel('ops'), channel('other', { name: 'x' })]);
      expect(changed.updated).toHaveLength(1);
    });
  });
});
