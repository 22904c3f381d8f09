import { expect, test } from '@jest/globals';
import { listAuditEntries } from '@tocsin/db/audit-log/read-audit-log';
import { recordAudit } from '@tocsin/db/audit-log/record-audit';
import { createUser } from '@tocsin/db/users/users';
import { sql } from 'drizzle-orm';
import { tailAuditLog } from './audit-operations.ts';
import { untilWaiting, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, accountId, actor } = context;

test('transactions commit in the order of their timestamps', async () => {
  const record = (name: string, count: number) =>
    Array.from({ length: count }, () => ({
      action: 'set.applied' as const,
      target: { type: 'set' as const, id: null, name },
      changes: [],
    }));
  let commit = (): void => undefined;
  const mayCommit = new Promise<void>((resolve) => (commit = resolve));
  let recorded = (): void => undefined;
  const hasRecorded = new Promise<void>((resolve) => (recorded = resolve));
  const first = db.transaction(async (tx) => {
    await recordAudit(tx, actor, record('first', 600));
    recorded();
    await mayCommit;
  });
  await hasRecorded;
  const second = db.transaction((tx) => recordAudit(tx, actor, record('second', 1)));
  await untilWaiting(context, 1);
  expect(await listAuditEntries(db, accountId, { limit: 500 })).toEqual([]);
  commit();
  await Promise.all([first, second]);
  const entries = await tailAuditLog(context, () => true);
  expect(entries.map(({ target }) => target.name)).toEqual([
    ...Array.from({ length: 600 }, () => 'first'),
    'second',
  ]);
});

test('a clock that is set back does not repeat a timestamp', async () => {
  const future = '2999-01-01T00:00:00.000007Z';
  await db.execute(sql`insert into audit_clocks values (${accountId}, ${future})
    on conflict (account_id) do update set last_timestamp = excluded.last_timestamp`);
  await createUser(db, actor, {
    role: 'owner',
    name: 'Ada',
    email: 'ada@example.com',
    emailVerified: true,
    passwordHash: null,
  });
  const [entry] = await listAuditEntries(db, accountId, { limit: 1, since: future });
  expect(entry?.timestamp).toBe('2999-01-01T00:00:00.000008Z');
});
