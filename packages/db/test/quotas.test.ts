import { beforeEach, expect, test } from '@jest/globals';
import type { Quotas } from '@tocsin/contracts/accounts/account';
import { createChannelSchema } from '@tocsin/contracts/channels/channel';
import { monitorSetSchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { createMaintenanceWindowSchema } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { createMaintenanceWindow } from '@tocsin/db/maintenance-windows/create-window';
import { endMaintenance, updateMaintenanceWindow } from '@tocsin/db/maintenance-windows/write-windows';
import { applySet } from '@tocsin/db/monitor-sets/apply-set';
import { sql } from 'drizzle-orm';
import { editMonitor, makeMonitor, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, actor } = context;

beforeEach(async () => {
  await db.execute(sql`truncate monitors, channels, maintenance_windows cascade`);
  await db.execute(sql`update accounts set quotas = '{}'`);
});

const NONE = { monitors: 50, channels: 50, maintenanceWindows: 50, regions: 50, checksPerMinute: 0 };
const limited = (quotas: Partial<Quotas>) => ({ ...context, quotas: { ...NONE, ...quotas } });
const refused = (quota: string, limit: number, used: number): object => ({
  code: 'quota_exceeded',
  quota: { quota, limit, used },
});

const apply = async (within: typeof context, monitors: object[], channels?: object[]): Promise<unknown> => {
  const set = monitorSetSchema.parse({ source: 'set', monitors, channels, prune: true });
  // A plan is refused for the same reason, except for regions.
  await applySet(within, actor, { ...set, dryRun: true }, 'default');
  return applySet(within, actor, set, 'default');
};
const entry = (externalId: string, fields: object = {}): object => ({
  externalId,
  name: externalId,
  url: 'https://a.example',
  ...fields,
});
const channelOf = (name: string): object => ({ name, externalId: name, url: 'https://hooks.invalid/a' });
const newChannel = (within: typeof context, name: string): Promise<unknown> =>
  createChannel(within, actor, createChannelSchema.parse({ ...channelOf(name), monitorIds: [] }));

test('monitors: one at a time, in a set, and by many requests at once', async () => {
  const two = limited({ monitors: 2 });
  const outcomes = await Promise.allSettled([1, 2, 3, 4, 5].map(() => makeMonitor(two)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  await expect(makeMonitor(two)).rejects.toMatchObject(refused('monitors', 2, 3));
  await expect(apply(two, [entry('a')])).rejects.toMatchObject(refused('monitors', 2, 3));
  await db.execute(sql`delete from monitors`);
  await apply(two, [entry('a'), entry('b')]);
  await apply(two, [entry('b', { name: 'B' }), entry('c')]);
  await expect(apply(two, [entry('b'), entry('c'), entry('d')])).rejects.toThrow(
    /quota of this account for monitors is 2/,
  );
});

test("an account's own quota replaces the default, and a lowered quota only prevents additions", async () => {
  const one = limited({ monitors: 1 });
  await db.execute(sql`update accounts set quotas = '{"monitors": 3}'`);
  const { id } = await makeMonitor(one);
  await makeMonitor(one);
  await makeMonitor(one);
  await db.execute(sql`update accounts set quotas = '{"monitors": 1}'`);
  await editMonitor(one, id, { name: 'still editable' });
  await expect(makeMonitor(one)).rejects.toMatchObject(refused('monitors', 1, 4));
});

test('channels: one at a time and in a set', async () => {
  const one = limited({ channels: 1 });
  await newChannel(one, 'a');
  await expect(newChannel(one, 'b')).rejects.toMatchObject(refused('channels', 1, 2));
  await expect(apply(one, [], [channelOf('c')])).rejects.toMatchObject(refused('channels', 1, 2));
  await db.execute(sql`delete from channels`);
  await apply(one, [], [channelOf('c')]);
  await apply(one, [], [channelOf('d')]);
});

test('maintenance windows, except those that are over', async () => {
  const one = limited({ maintenanceWindows: 1 });
  const plan = () =>
    createMaintenanceWindow(
      one,
      actor,
      createMaintenanceWindowSchema.parse({ name: 'w', allMonitors: true, durationSeconds: 600 }),
    );
  const { maintenanceWindow } = await plan();
  await expect(plan()).rejects.toMatchObject(refused('maintenanceWindows', 1, 2));
  await endMaintenance(db, actor, maintenanceWindow.id);
  await plan();
  const endsAt = new Date(Date.now() + 3_600_000);
  await expect(updateMaintenanceWindow(one, actor, maintenanceWindow.id, { endsAt })).rejects.toMatchObject(
    refused('maintenanceWindows', 1, 2),
  );
});

test('regions that monitors name', async () => {
  const two = limited({ regions: 2 });
  const { id } = await makeMonitor(two, { regions: ['eu', 'us'] });
  await makeMonitor(two, { regions: ['eu'] });
  await expect(makeMonitor(two, { regions: ['ap'] })).rejects.toMatchObject(refused('regions', 2, 3));
  await expect(editMonitor(two, id, { regions: ['eu', 'us', 'ap'] })).rejects.toMatchObject(
    refused('regions', 2, 3),
  );
  await editMonitor(two, id, { regions: ['eu', 'ap'] });
  await expect(apply(two, [entry('a', { regions: ['us'] })])).rejects.toMatchObject(refused('regions', 2, 3));
});

test('scheduled checks per minute, in all regions', async () => {
  const ten = limited({ checksPerMinute: 10 });
  const { id } = await makeMonitor(ten, { interval: 30, regions: ['eu', 'us'] });
  await expect(makeMonitor(ten, { interval: 8 })).rejects.toMatchObject(refused('checksPerMinute', 10, 11.5));
  await expect(editMonitor(ten, id, { interval: 10 })).rejects.toMatchObject(
    refused('checksPerMinute', 10, 12),
  );
  await makeMonitor(ten, { interval: 10 });
  await editMonitor(ten, id, { interval: 60 });
  await expect(apply(ten, [entry('a', { interval: 20 })])).rejects.toMatchObject(
    refused('checksPerMinute', 10, 11),
  );
});
