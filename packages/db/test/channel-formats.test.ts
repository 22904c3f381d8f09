import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ChannelInput } from '@tocsin/contracts/channels/channel';
import { getChannel, versionOf } from '@tocsin/db/channels/read-channels';
import { createChannel, updateChannel } from '@tocsin/db/channels/write-channels';
import { claimDeliveries } from '@tocsin/db/deliveries/claim-deliveries';
import { getDelivery } from '@tocsin/db/deliveries/read-deliveries';
import { dispatchStatusChanges } from '@tocsin/db/status-changes/dispatch-status-changes';
import { sql } from 'drizzle-orm';
import { changeStatus, claimOne, endLeases, readDeliveryLog, recordOutcome } from './delivery-steps.ts';
import { makeMonitor, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor, secrets } = context;
const PUBLIC_URL = 'https://tocsin.example';
let monitorId: string;

beforeEach(async () => {
  await db.execute(
    sql`truncate monitors, channels, status_changes, deliveries, incidents, audit_log cascade`,
  );
  monitorId = (await makeMonitor(context, { labels: { team: 'checkout' } })).id;
});

async function channelWith(fields: Partial<ChannelInput>): Promise<string> {
  const channel = { name: 'ops', url: 'https://hooks.example', monitorIds: [], allMonitors: true, ...fields };
  return (await createChannel(context, actor, channel)).id;
}

async function alert(to: 'UP' | 'DOWN'): Promise<void> {
  const statusChangeIds = [await changeStatus(context, monitorId, to)];
  await dispatchStatusChanges(db, { statusChangeIds }, PUBLIC_URL);
}

async function bodies(channelId: string): Promise<unknown[]> {
  return (await readDeliveryLog(db, channelId)).map(({ payload }) => JSON.parse(payload) as unknown);
}

describe('a delivery', () => {
  test('is rendered once, in the format of its channel', async () => {
    const template = '[{{ event | json }}, {{ monitor.labels.team | json }}, {{ links.incident | json }}]';
    const id = await channelWith({ format: 'custom', template });
    const standard = await channelWith({});
    await alert('DOWN');
    await updateChannel(context, actor, id, { template: '1' });
    const link = expect.stringMatching(/^https:\/\/tocsin\.example\/[a-z0-9-]+\/incidents\/[0-9a-f-]{36}$/);
    expect(await bodies(id)).toEqual([
      ['monitor.down', 'checkout', link],
      ['incident.created', 'checkout', link],
    ]);
    expect(await bodies(standard)).toMatchObject([{ event: 'monitor.down' }, { event: 'incident.created' }]);
  });

  test('keeps the labels that its incident began with', async () => {
    const id = await channelWith({ format: 'custom', template: '{{ monitor.labels | json }}' });
    await alert('DOWN');
    await db.execute(sql`update monitors set labels = '{"team": "other"}'`);
    await alert('UP');
    expect(await bodies(id)).toEqual(Array.from({ length: 4 }, () => ({ team: 'checkout' })));
  });

  test('has the standard payload and the reason if its template fails', async () => {
    const id = await channelWith({ format: 'custom', template: '{{ monitorName }}' });
    await alert('DOWN');
    expect(await bodies(id)).toMatchObject([{ event: 'monitor.down' }, { event: 'incident.created' }]);
    const [delivery] = await readDeliveryLog(db, id);
    const reason = { formatError: expect.stringContaining('the result is not JSON') };
    expect(await getDelivery(db, accountId, delivery?.id ?? '')).toMatchObject(reason);
    expect(await getChannel(db, accountId, id)).toMatchObject(reason);
    expect(await claimDeliveries(context, { limit: 1 })).toMatchObject([reason]);
    await updateChannel(context, actor, id, { template: '{{ monitorName | json }}' });
    expect(await getChannel(db, accountId, id)).toMatchObject({ formatError: null });
  });

  test('that cannot be rendered does not stop others', async () => {
    const id = await channelWith({ format: 'slack' });
    const statusChangeIds = [await changeStatus(context, monitorId, 'DOWN')];
    await db.execute(
      sql`update status_changes set webhook_events = replace(webhook_events::text, 'HTTP_500', 'BROKEN')::jsonb`,
    );
    await dispatchStatusChanges(db, { statusChangeIds }, PUBLIC_URL);
    expect(await readDeliveryLog(db, id)).toMatchObject([
      { state: 'pending', formatError: expect.any(String) },
      { state: 'pending', formatError: expect.any(String) },
    ]);
  });

  test('has the same body in every attempt, even if the routing key changes', async () => {
    const id = await channelWith({
      format: 'pagerduty',
      routingKey: 'R0UT1NG',
      headers: { Authorization: 'Bearer t0ken' },
      events: ['monitor.down'],
    });
    await alert('DOWN');
    expect(await bodies(id)).toMatchObject([{ routing_key: '(secret)', dedup_key: monitorId }]);
    const { payload, headers } = await claimOne(context);
    expect(JSON.parse(payload)).toMatchObject({ routing_key: 'R0UT1NG' });
    expect(headers).toEqual({ Authorization: 'Bearer t0ken' });
    const changes = [
      { routingKey: 'other' },
      { format: 'slack' as const, routingKey: null, headers: { Authorization: 'Bearer other' } },
    ];
    for (const change of changes) {
      await updateChannel(context, actor, id, change);
      await endLeases(context);
      expect(await claimOne(context)).toMatchObject({ payload, routingKey: 'R0UT1NG' });
    }
    await endLeases(context);
    expect((await claimOne(context)).headers).toEqual({ Authorization: 'Bearer other' });
  });

  test.each([
    ['pagerduty', 'failed', 'pending'],
    ['pagerduty', 'pending', 'held'],
    ['slack', 'pending', 'pending'],
  ] as const)('of %s is %s if its repetition comes after a %s event', async (format, state, laterState) => {
    const id = await channelWith({ format, routingKey: 'R0UT1NG', events: ['monitor.down', 'monitor.up'] });
    await alert('DOWN');
    const down = await claimOne(context);
    await recordOutcome(context, down, { kind: 'retry', delayMs: 0 });
    await alert('UP');
    await db.execute(sql`update deliveries set state = ${laterState} where event = 'monitor.up'`);
    const claimed = await claimDeliveries(context, { limit: 10 });
    expect(claimed.map(({ event }) => event).toSorted()).toEqual([
      ...(state === 'pending' ? ['monitor.down'] : []),
      ...(laterState === 'pending' ? ['monitor.up'] : []),
    ]);
    expect((await readDeliveryLog(db, id)).map((row) => row.state)).toEqual([state, laterState]);
  });

  test('is not sent if no key decrypts its routing key', async () => {
    await channelWith({ format: 'pagerduty', routingKey: 'R0UT1NG', events: ['monitor.down'] });
    await alert('DOWN');
    await db.execute(sql`update deliveries set sealed_routing_key = 'v1.00000000.AAAA'`);
    expect(await claimOne(context)).toMatchObject({ secrets: [], routingKey: null });
  });
});

describe('the secrets of a channel', () => {
  const SECRETS = { headers: { Authorization: 'Bearer t0ken' }, routingKey: 'R0UT1NG' };

  test('are sealed, hidden without a key, and in no audit entry', async () => {
    const id = await channelWith(SECRETS);
    await updateChannel(context, actor, id, {
      headers: { Authorization: 'Bearer t0ken2' },
      routingKey: 'R0UT1NG2',
    });
    const { rows } = await db.execute(sql`
      select to_jsonb(c)::text as text from channels c union all select to_jsonb(a)::text from audit_log a`);
    expect(JSON.stringify(rows)).not.toMatch(/t0ken|R0UT1NG/);
    expect(JSON.stringify(rows)).toContain('routingKey');
    const hidden = { headers: { Authorization: '(secret)' }, routingKey: '(secret)' };
    expect(await getChannel(db, accountId, id)).toMatchObject(hidden);
    const shown = { headers: { Authorization: 'Bearer t0ken2' }, routingKey: 'R0UT1NG2' };
    expect(await getChannel(db, accountId, id, 'id', secrets)).toMatchObject(shown);
  });

  test('change the version of the channel, and the same ones do not', async () => {
    const id = await channelWith(SECRETS);
    const version = async (): Promise<string> => versionOf(await getChannel(db, accountId, id));
    const before = await version();
    await updateChannel(context, actor, id, SECRETS);
    expect(await version()).toBe(before);
    await updateChannel(context, actor, id, { routingKey: 'other' });
    expect(await version()).not.toBe(before);
  });

  test('are required by the format', async () => {
    const id = await channelWith({});
    await expect(updateChannel(context, actor, id, { format: 'pagerduty' })).rejects.toMatchObject({
      code: 'validation_failed',
      errors: [{ path: 'routingKey', message: 'is required by the format pagerduty' }],
    });
    await updateChannel(context, actor, id, { format: 'pagerduty', routingKey: 'R0UT1NG' });
  });
});
