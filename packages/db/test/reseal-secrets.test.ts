import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { revealChannelSecret, rotateChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { createTestDelivery } from '@tocsin/db/deliveries/test-deliveries';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { getMonitor } from '@tocsin/db/monitors/read-monitors';
import { resealBatch, resealSecrets, SEALED_TABLES } from '@tocsin/db/secrets/reseal-secrets';
import { countSealed, countUnreadable, reportUnreadable } from '@tocsin/db/secrets/unreadable-secrets';
import { sql } from 'drizzle-orm';
import { Client } from 'pg';
import { makeMonitor, useTestContext } from './harness.ts';

const [oldKey, newKey, strangeKey] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const old = new SecretBox([oldKey]);
const rotated = new SecretBox([newKey, oldKey]);
const fresh = new SecretBox([newKey]);
const SECRETS = { headers: { Authorization: 'Bearer s3cret', 'X-Key': 'k3y' }, body: 'b0dy', method: 'POST' };

const context = { ...(await useTestContext()), secrets: old };
const { db, actor, viewer } = context;
beforeEach(async () => {
  await db.execute(sql`delete from monitors`);
  await db.execute(sql`delete from channels`);
  await db.execute(sql`delete from deliveries`);
});

const makeOpsChannel = (): Promise<{ id: string; secret: string }> =>
  createChannel(context, actor, { name: 'ops', url: 'https://hooks.example', monitorIds: [] });

const makeMonitors = (count: number) =>
  Promise.all(Array.from({ length: count }, () => makeMonitor(context, SECRETS)));

/** Reads all rows of these tables as they are stored. */
async function stored(): Promise<unknown> {
  const monitors = await db.execute(sql`select * from monitors order by id`);
  const channels = await db.execute(sql`select * from channels order by id`);
  return [monitors.rows, channels.rows];
}

describe('resealing', () => {
  test('includes the routing keys of deliveries', async () => {
    const fields = { name: 'ops', url: 'https://hooks.example', monitorIds: [] };
    const { id } = await createChannel(context, actor, {
      ...fields,
      format: 'pagerduty',
      routingKey: 'R0UT1NG',
    });
    await createTestDelivery(db, actor, id, 'default');
    await resealSecrets({ ...context, secrets: rotated });
    const claimed = await claimDeliveries({ ...context, secrets: fresh }, { limit: 1 });
    expect(claimed).toMatchObject([{ routingKey: 'R0UT1NG' }]);
  });

  test('moves every secret to the first key and changes nothing else', async () => {
    const monitors = await makeMonitors(5);
    const plain = await makeMonitor(context);
    const { id } = await makeOpsChannel();
    const { secret } = await rotateChannelSecret(context, actor, id);
    const report = await resealSecrets({ ...context, secrets: rotated });
    // Each monitor has three secrets, and the channel has two, because its secret was rotated.
    expect(report).toMatchObject({ resealed: 17, total: 17, left: new Map(), unreadable: new Map() });
    expect(await countSealed(db)).toEqual(new Map([[fresh.currentKeyId, 17]]));
    const reading = { ...context, secrets: fresh };
    for (const before of [...monitors, plain]) {
      expect((await getMonitor(reading, viewer, before.id)).monitor).toEqual(before);
    }
    expect(await revealChannelSecret(reading, actor, id)).toBe(secret);
    const revisions = await db.execute(sql`select distinct revision from monitors`);
    expect(revisions.rows).toEqual([{ revision: 1 }]);
    const before = await stored();
    expect(await resealSecrets({ ...context, secrets: rotated })).toMatchObject({ resealed: 0, total: 17 });
    expect(await stored()).toEqual(before);
  });

  test('continues after an interruption between two batches', async () => {
    await makeMonitors(5);
    const rotating = { ...context, secrets: rotated };
    const [monitors] = SEALED_TABLES;
    const first = monitors && (await resealBatch(rotating, monitors, null, 2));
    expect(first).toMatchObject({ resealed: 6, unreadable: [] });
    expect(await resealSecrets(rotating)).toMatchObject({ resealed: 9, total: 15 });
  });

  test('skips a locked row, reports it, and reseals it in a later round', async () => {
    const { id } = await makeMonitor(context, SECRETS);
    await makeMonitor(context, SECRETS);
    const client = new Client({ connectionString: context.url });
    await client.connect();
    await client.query('begin');
    await client.query('select from monitors where id = $1 for no key update', [id]);
    const rotating = { ...context, secrets: rotated };
    const held = new Map([[old.currentKeyId, 3]]);
    let pauses = 0;
    const pass = async (): Promise<void> => void (pauses += 1);
    expect(await resealSecrets(rotating, pass)).toMatchObject({ resealed: 3, total: 6, left: held });
    expect(pauses).toBe(4);
    const commit = (): Promise<unknown> => client.query('commit');
    const report = await resealSecrets(rotating, commit);
    await client.end();
    expect(report).toMatchObject({ resealed: 3, total: 6, left: new Map() });
  });

  test('leaves unreadable secrets unchanged and reseals the others', async () => {
    const strange = { ...context, secrets: new SecretBox([strangeKey]) };
    const { id } = await makeMonitor(strange, SECRETS);
    await makeMonitor(context, SECRETS);
    const readSealed = async () =>
      (await db.execute(sql`select sealed_headers, sealed_body from monitors where id = ${id}`)).rows;
    const before = await readSealed();
    const report = await resealSecrets({ ...context, secrets: rotated });
    const unreadable = new Map([[strange.secrets.currentKeyId, 3]]);
    expect(report).toEqual({ resealed: 3, total: 6, left: new Map(), unreadable, unreadableRows: [id] });
    expect(await readSealed()).toEqual(before);
    const all = new SecretBox([newKey, oldKey, strangeKey]);
    expect(await resealSecrets({ ...context, secrets: all })).toMatchObject({ resealed: 3 });
    expect((await getMonitor({ ...context, secrets: fresh }, viewer, id)).monitor).toMatchObject(SECRETS);
  });
});

describe('a missing key', () => {
  test('is reported by its id', async () => {
    await makeMonitor(context, SECRETS);
    await makeOpsChannel();
    expect(await countUnreadable(db, fresh.keyIds)).toEqual(new Map([[old.currentKeyId, 4]]));
    const messages: string[] = [];
    await reportUnreadable({ ...context, secrets: fresh }, (message) => messages.push(message));
    await reportUnreadable({ ...context, secrets: rotated }, (message) => messages.push(message));
    expect(messages).toEqual([
      `SECRETS_KEY lacks the key ${old.currentKeyId}, with which 4 secrets are sealed: put it at the end of SECRETS_KEY`,
    ]);
  });
  test('does not prevent deleting a monitor or rotating the secret of a channel', async () => {
    const monitor = await makeMonitor(context, SECRETS);
    const { id } = await makeOpsChannel();
    const without = { ...context, secrets: fresh };
    const { secret } = await rotateChannelSecret(without, actor, id);
    expect(await revealChannelSecret(without, actor, id)).toBe(secret);
    await deleteMonitor(db, actor, monitor.id);
    expect(await countUnreadable(db, fresh.keyIds)).toEqual(new Map([[old.currentKeyId, 1]]));
  });
});
