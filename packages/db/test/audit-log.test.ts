import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { AuditEntry } from '@tocsin/contracts/audit-log/audit-log';
import { AppError } from '@tocsin/contracts/errors';
import { listApiKeys } from '@tocsin/db/api-keys/api-keys';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { listAuditEntries } from '@tocsin/db/audit-log/read-audit-log';
import { recordAudit } from '@tocsin/db/audit-log/record-audit';
import { listChannels } from '@tocsin/db/channels/read-channels';
import { type Database, openDatabase, type OpenDatabase, type Transaction } from '@tocsin/db/database/open';
import { listMaintenanceWindows } from '@tocsin/db/maintenance-windows/read-windows';
import { readRegionNetworks } from '@tocsin/db/regions/canaries';
import { invitations } from '@tocsin/db/users/table';
import { createUser, isUnused, listUsers } from '@tocsin/db/users/users';
import { until } from '@tocsin/embedded/testing/until';
import { sql } from 'drizzle-orm';
import { Draw, MARK, operate, type World } from './audit-operations.ts';
import { openTestContext, PATIENT, type TestContext, untilWaiting, listMonitors } from './harness.ts';

/** Of the whole test, which takes about 30 ms for each. */
const OPERATIONS = Number(process.env['AUDIT_OPERATIONS'] ?? 600);
const SEED = Number(process.env['AUDIT_SEED'] ?? 1);
const WORKERS = 6;
const BEGINNING = '0001-01-01T00:00:00.000000Z';

let context: TestContext;
beforeEach(async () => {
  context = await openTestContext();
});
afterEach(() => context.close());

type Fields = Record<string, unknown>;

/** What each target has, by its type and id. */
type Configuration = Map<string, Fields>;

const keyOf = (type: string, id: string | null): string => `${type} ${id ?? ''}`;

/** Rebuilds the configuration, and checks that each entry starts from what the entries before it made. */
function fold(entries: readonly AuditEntry[]): Configuration {
  const configuration: Configuration = new Map([[keyOf('region', 'default'), { canaryMonitorIds: [] }]]);
  for (const { action, target, changes } of entries) {
    const [type = '', what = ''] = action.split('.');
    if (type === 'set' || type === 'session' || /secretRevealed|secretRotated|passwordChanged/.test(what))
      continue;
    const key = keyOf(type, target.id);
    const fields = configuration.get(key) ?? {};
    for (const { field, from, to } of changes) {
      expect([action, target.id, field, fields[field] ?? null]).toEqual([action, target.id, field, from]);
      fields[field] = to;
    }
    const isGone = what === 'deleted' || what === 'accepted';
    expect([action, configuration.has(key)]).toEqual([action, what !== 'created']);
    if (isGone) {
      expect(Object.values(fields).filter((value) => value !== null)).toEqual([]);
      configuration.delete(key);
    } else configuration.set(key, fields);
    if (action === 'monitor.deleted') forgetMonitor(configuration, target.id);
  }
  return configuration;
}

/** A deleted monitor leaves the channels, windows and regions that list it. */
function forgetMonitor(configuration: Configuration, id: string | null): void {
  for (const fields of configuration.values()) {
    for (const name of ['monitorIds', 'canaryMonitorIds']) {
      const listed = fields[name];
      if (Array.isArray(listed)) fields[name] = listed.filter((other) => other !== id);
    }
  }
}

/** The configuration as the API shows it, with secrets and addresses masked. */
async function readConfiguration(): Promise<Configuration> {
  const { db, accountId } = context;
  const { id, role, email } = invitations;
  // Set-up links are not listed, but recorded.
  const open = await db.select({ id, role, email }).from(invitations).where(isUnused);
  const hidden = (value: unknown): unknown => (value === null ? null : '(secret)');
  const found: [string, readonly ({ id: string } & Fields)[], readonly string[]][] = [
    [
      'monitor',
      (await listMonitors(context, { accountId, canWrite: true })).map(({ headers, body, ...monitor }) => ({
        ...monitor,
        body: hidden(body),
        headers: headers && Object.fromEntries(Object.keys(headers).map((name) => [name, '(secret)'])),
      })),
      ['status', 'statusSince', 'lastCheckedAt', 'createdAt', 'updatedAt'],
    ],
    [
      'channel',
      (await listChannels(db, accountId)).map((channel) => ({ ...channel, secret: '(secret)' })),
      ['failingSince', 'createdAt', 'updatedAt'],
    ],
    [
      'maintenanceWindow',
      await listMaintenanceWindows(db, accountId, { limit: 100_000 }),
      ['state', 'currentOccurrence', 'nextOccurrence', 'createdAt', 'updatedAt'],
    ],
    [
      'apiKey',
      (await listApiKeys(db, accountId)).map((key) => ({ ...key, key: '(secret)' })),
      ['lastUsedAt', 'createdBy', 'createdAt'],
    ],
    ['region', [await readRegion('default')], []],
    ['user', await listUsers(db, accountId), ['email', 'createdAt']],
    ['invitation', open.map(({ email, ...rest }) => ({ ...rest, email: hidden(email) })), []],
  ];
  return new Map(
    found.flatMap(([type, records, others]) =>
      records.map(({ id, ...record }): [string, Fields] => {
        const fields = Object.entries(record).filter(([field]) => !others.includes(field));
        return [keyOf(type, id), Object.fromEntries(fields)];
      }),
    ),
  );
}

async function readRegion(id: string): Promise<{ id: string } & Fields> {
  const networks = await readRegionNetworks(context.db, context.accountId);
  return { id, canaryMonitorIds: networks.get(id)?.canaryMonitorIds ?? [] };
}

const withoutNulls = (configuration: Configuration): Record<string, Fields> =>
  Object.fromEntries(
    [...configuration].map(([key, fields]) => [
      key,
      Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)),
    ]),
  );

class InjectedError extends Error {}

/** The database, some of whose transactions are rolled back in the end, or lose their connection before or during the commit. */
function withFaults(db: Database, draw: Draw, kills: Promise<unknown>[]): Database {
  const transaction: Database['transaction'] = async (work, config) => {
    const fault = draw.below(10);
    return db.transaction(async (tx) => {
      const result = await work(tx);
      if (fault === 0) throw new InjectedError();
      if (fault === 1) await tx.execute(sql`select pg_terminate_backend(pg_backend_pid())`);
      if (fault === 2) kills.push(terminate(await pidOf(tx)));
      return result;
    }, config);
  };
  return Object.create(db, { transaction: { value: transaction } }) as Database;
}

function openWriters(): OpenDatabase {
  const onIdleError = (): void => undefined;
  const options = { url: context.url, poolSize: WORKERS, applicationName: 'tocsin test', onIdleError };
  const writers = openDatabase(options);
  Object.assign(writers.pool.options, PATIENT);
  return writers;
}

async function pidOf(tx: Transaction): Promise<number> {
  const { rows } = await tx.execute<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  return rows[0]?.pid ?? 0;
}

async function terminate(pid: number): Promise<void> {
  const isOurs = sql`pid = ${pid} and datname = current_database()`;
  await context.db.execute(sql`select pg_terminate_backend(pid) from pg_stat_activity where ${isOurs}`);
}

/** A connection that was lost during a commit does not tell when the commit is over. */
function untilCommitted(): Promise<unknown> {
  return until('every transaction to end', async () => {
    const { rowCount } = await context.db.execute(sql`
      select from pg_stat_activity
      where datname = current_database() and backend_xid is not null and pid <> pg_backend_pid()`);
    return rowCount === 0;
  });
}

/** What kept an operation from being done. @throws the error, unless it is one that operations or faults cause */
function faultOf(error: unknown): string {
  if (error instanceof AppError) return error.code;
  if (error instanceof InjectedError) return 'rolled back';
  const { message, cause } = error as Error;
  if (/terminat|not queryable|ECONNRESET|EPIPE/i.test(`${message} ${String(cause)}`)) return 'interrupted';
  throw error;
}

/** Reads every entry by `since`, until it finds none after the writers have finished. */
async function tail(isDone: () => boolean): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (;;) {
    const wasDone = isDone();
    const since = entries.at(-1)?.timestamp ?? BEGINNING;
    const page = await listAuditEntries(context.db, context.accountId, { limit: 20, since });
    entries.push(...page);
    if (page.length === 0 && wasDone) return entries;
  }
}

test(
  'folding the log yields the configuration, whatever is rolled back or interrupted, and a tail misses nothing',
  async () => {
    const { db, secrets, accountId } = context;
    // Connections of their own, so that only theirs are terminated.
    const writers = openWriters();
    const owner = { role: 'owner', name: 'Owner', email: 'owner@example.com' } as const;
    await createUser(db, systemActor(accountId), { ...owner, emailVerified: true, passwordHash: null });
    const returned: string[] = [];
    const kills: Promise<unknown>[] = [];
    let isDone = false;
    const faults = new Map<string, number>();
    const tailed = tail(() => isDone);
    const work = async (_: unknown, worker: number): Promise<void> => {
      const draw = new Draw(SEED * 1_000 + worker);
      const world: World = {
        secrets,
        accountId,
        returned,
        db: withFaults(writers.db, new Draw(SEED * 7_919 + worker), kills),
      };
      for (let count = 0; count < OPERATIONS / WORKERS; count += 1) {
        await operate(world, draw).catch((error: unknown) => {
          const fault = faultOf(error);
          faults.set(fault, (faults.get(fault) ?? 0) + 1);
        });
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
    await Promise.all(kills);
    await writers.close();
    await untilCommitted();
    isDone = true;
    const entries = await tailed;
    for (const fault of ['rolled back', 'interrupted', 'not_found'])
      expect([...faults.keys()]).toContain(fault);

    const stamps = entries.map(({ timestamp }) => timestamp);
    expect(stamps).toEqual([...new Set(stamps)].sort());
    const { rows } = await db.execute<{ id: string; text: string }>(
      sql`select id, row_to_json(audit_log)::text as text from audit_log order by timestamp`,
    );
    expect(entries.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    expect(withoutNulls(fold(entries))).toEqual(withoutNulls(await readConfiguration()));

    const text = rows.map((row) => row.text.toLowerCase()).join('\n');
    expect(text).toContain('"authorization": "(secret)"');
    expect([MARK, ...returned].filter((secret) => text.includes(secret.toLowerCase()))).toEqual([]);
  },
  60_000 + OPERATIONS * 1_000,
);

test('transactions commit in the order of their timestamps', async () => {
  const { db, accountId } = context;
  const actor = systemActor(accountId);
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
  expect(await listAuditEntries(db, accountId, { limit: 500, since: BEGINNING })).toEqual([]);
  commit();
  await Promise.all([first, second]);
  const entries = await tail(() => true);
  expect(entries.map(({ target }) => target.name)).toEqual([
    ...Array.from({ length: 600 }, () => 'first'),
    'second',
  ]);
});

test('a clock that is set back does not repeat a timestamp', async () => {
  const { db, accountId } = context;
  const future = '2999-01-01T00:00:00.000007Z';
  await db.execute(sql`insert into audit_clocks values (${accountId}, ${future})`);
  await createUser(db, systemActor(accountId), {
    role: 'owner',
    name: 'Ada',
    email: 'ada@example.com',
    emailVerified: true,
    passwordHash: null,
  });
  const [entry] = await listAuditEntries(db, accountId, { limit: 1, since: future });
  expect(entry?.timestamp).toBe('2999-01-01T00:00:00.000008Z');
});
