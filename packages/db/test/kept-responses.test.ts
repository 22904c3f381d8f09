import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AppError } from '@tocsin/contracts/errors';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { systemActor } from '@tocsin/db/audit-log/actor';
import type { CheckRecord, SealResponse } from '@tocsin/db/checks/check-record';
import { recordChecks } from '@tocsin/db/checks/record-checks';
import { getEventResponse, listEvents, tailEvents } from '@tocsin/db/events/read-events';
import { updateMonitor } from '@tocsin/db/monitors/update-monitors';
import { sql } from 'drizzle-orm';
import { checkOf, failureOf, makeMonitor, openTestContext, type TestContext } from './harness.ts';

let context: TestContext;
let sealed: number;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

const sealResponse: SealResponse = ({ response }) => {
  sealed += 1;
  return response && context.secrets.encrypt(JSON.stringify(response()));
};

const RESPONSE = { headers: { 'retry-after': '30' }, body: 'upstream is away' };

function failed(id: string, fields: Partial<CheckRecord> = {}): CheckRecord {
  return failureOf(id, { response: () => RESPONSE, ...fields });
}

/** Records checks one after the other. @returns whether each kept its response */
async function record(id: string, checks: readonly CheckRecord[]): Promise<boolean[]> {
  sealed = 0;
  for (const check of checks) await recordChecks(context.db, [check], { sealResponse });
  const events = await listEvents(context.db, context.accountId, id, { limit: 100 });
  return events.map(({ hasResponse }) => hasResponse);
}

describe('the response', () => {
  test('of the first failed check after a passing one is kept, and only that one is sealed', async () => {
    const { id } = await makeMonitor(context, { failureThreshold: 3 });
    const checks = [failed(id), failed(id), checkOf(id), checkOf(id), failed(id), failed(id)];
    expect(await record(id, checks)).toEqual([true, false, false, false, true, false]);
    expect(sealed).toBe(2);
  });

  test('is kept for each region', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu', 'us'] });
    const checks = ['eu', 'eu', 'us', 'us'].map((region) => failed(id, { region }));
    expect(await record(id, checks)).toEqual([true, false, true, false]);
  });

  test('is not kept of a check that does not count', async () => {
    const { id } = await makeMonitor(context, { regions: ['eu'] });
    await updateMonitor(
      context,
      systemActor(context.accountId),
      id,
      { url: 'https://other.example/' },
      'default',
      null,
    );
    const checks = [
      failed(id, { region: 'eu', revision: 1 }),
      failed(id, { region: 'us', revision: 2 }),
      failed(id, {
        region: 'eu',
        revision: 2,
        source: 'trigger',
        slot: null,
        urlOverride: 'https://x.example/',
      }),
      failed(id, { region: 'eu', revision: 2, network: 'isolated' }),
      failed(id, { region: 'eu', revision: 2 }),
    ];
    expect(await record(id, checks)).toEqual([false, false, false, false, true]);
    expect(sealed).toBe(1);
  });

  test('is not kept of a check without one', async () => {
    const { id } = await makeMonitor(context);
    expect(await record(id, [failureOf(id), failed(id)])).toEqual([false, false]);
  });

  test('is read with the event that kept it, by its account', async () => {
    const { id } = await makeMonitor(context);
    await record(id, [failed(id, { statusCode: 503 }), failed(id)]);
    const { accountId } = context;
    const [first, second] = await listEvents(context.db, accountId, id, { limit: 10 });
    const read = (event: { timestamp: string } | undefined, account = accountId) =>
      getEventResponse(context, account, id, new Date(event?.timestamp ?? 0));
    expect(await read(first)).toEqual({ statusCode: 503, ...RESPONSE });
    await expect(read(second)).rejects.toThrow(AppError);
    await expect(read({ timestamp: '2020-01-01T00:00:00Z' })).rejects.toThrow('No response was kept');
    await expect(read(first, '00000000-0000-0000-0000-000000000000')).rejects.toThrow(AppError);
  });

  test('is encrypted at rest, and no list contains it', async () => {
    const { id } = await makeMonitor(context);
    await record(id, [failed(id)]);
    const { rows } = await context.db.execute(
      sql`select e::text as row from events e where monitor_id = ${id}`,
    );
    expect(JSON.stringify(rows)).toContain('v1.');
    const events = await tailEvents(
      context.db,
      context.accountId,
      [{ monitorId: id, after: 0, upTo: Date.now() + 60_000 }],
      9,
    );
    expect(events).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain('v1.');
    expect(JSON.stringify([rows, events])).not.toContain('away');
  });

  test('that no key decrypts is shown as unreadable', async () => {
    const { id } = await makeMonitor(context);
    await record(id, [failed(id)]);
    const [event] = await listEvents(context.db, context.accountId, id, { limit: 1 });
    const stranger = { ...context, secrets: new SecretBox([randomBytes(32)]) };
    expect(await getEventResponse(stranger, context.accountId, id, new Date(event?.timestamp ?? 0))).toEqual({
      statusCode: 500,
      headers: {},
      body: '(unreadable)',
    });
  });
});
