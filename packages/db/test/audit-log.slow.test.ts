import { expect, test } from '@jest/globals';
import type { AuditEntry } from '@tocsin/contracts/audit-log/audit-log';
import { AppError } from '@tocsin/contracts/errors';
import { listChannels } from '@tocsin/db/channels/read-channels';
import { type Database, openDatabase, type OpenDatabase } from '@tocsin/db/database/open';
import { listMaintenanceWindows } from '@tocsin/db/maintenance-windows/read-windows';
import { readRegionNetworks } from '@tocsin/db/regions/canaries';
import { sql } from 'drizzle-orm';
import { MARK, operate, tailAuditLog, type World } from './audit-operations.ts';
import { Draw } from './draw.ts';
import { listMonitors, PATIENT, useTestContext } from './harness.ts';

const OPERATIONS = 600;
const WORKERS = 6;

const context = await useTestContext();
const { db, accountId } = context;

type Fields = Record<string, unknown>;

/** Fields of each target, by its type and id. */
type Configuration = Map<string, Fields>;

const keyOf = (type: string, id: string | null): string => `${type} ${id ?? ''}`;

/** Rebuilds the configuration, and checks that each entry starts from the result of the earlier entries. */
function fold(entries: readonly AuditEntry[]): Configuration {
  const configuration: Configuration = new Map([[keyOf('region', 'default'), { canaryMonitorIds: [] }]]);
  for (const { action, target, changes } of entries) {
    const [type = '', what = ''] = action.split('.');
    if (type === 'set' || /secretRevealed|secretRotated/.test(what)) continue;
    const key = keyOf(type, target.id);
    const fields = configuration.get(key) ?? {};
    for (const { field, from, to } of changes) {
      expect([action, target.id, field, fields[field] ?? null]).toEqual([action, target.id, field, from]);
      fields[field] = to;
    }
    expect([action, configuration.has(key)]).toEqual([action, what !== 'created']);
    if (what === 'deleted') {
      expect(Object.values(fields).filter((value) => value !== null)).toEqual([]);
      configuration.delete(key);
    } else configuration.set(key, fields);
    if (action === 'monitor.deleted') forgetMonitor(configuration, target.id);
  }
  return configuration;
}

/** Removes a deleted monitor from the channels, windows and regions that list it. */
function forgetMonitor(configuration: Configuration, id: string | null): void {
  for (const fields of configuration.values()) {
    for (const name of ['monitorIds', 'canaryMonitorIds']) {
      const listed = fields[name];
      if (Array.isArray(listed)) fields[name] = listed.filter((other) => other !== id);
    }
  }
}

/** Reads the configuration in the form of the API, with masked secrets and addresses. */
async function readConfiguration(): Promise<Configuration> {
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
      ['state', 'currentOccurrence', 'nextOccurrence', 'clockChanges', 'createdAt', 'updatedAt'],
    ],
    ['region', [await readRegion('default')], []],
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
  const networks = await readRegionNetworks(db, accountId);
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

/** Wraps the database. Some transactions are rolled back at the end, or lose their connection before the commit. */
function withFaults(db: Database, draw: Draw): Database {
  const transaction: Database['transaction'] = async (work, config) => {
    const fault = draw.below(10);
    return db.transaction(async (tx) => {
      const result = await work(tx);
      if (fault === 0) throw new InjectedError();
      if (fault === 1) await tx.execute(sql`select pg_terminate_backend(pg_backend_pid())`);
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

/** Returns why an operation failed. @throws the error, unless operations or faults cause it */
function faultOf(error: unknown): string {
  if (error instanceof AppError) return error.code;
  if (error instanceof InjectedError) return 'rolled back';
  const { message, cause } = error as Error;
  if (/terminat|not queryable|ECONNRESET|EPIPE/i.test(`${message} ${String(cause)}`)) return 'interrupted';
  throw error;
}

test('folding the log yields the configuration, despite rollbacks and interruptions, and a tail misses nothing', async () => {
  const { secrets } = context;
  // They have separate connections, so that only these are terminated.
  const writers = openWriters();
  const returned: string[] = [];
  let isDone = false;
  const faults = new Map<string, number>();
  const tailed = tailAuditLog(context, () => isDone);
  const work = async (_: unknown, worker: number): Promise<void> => {
    const draw = new Draw(1_000 + worker);
    const faulty = withFaults(writers.db, new Draw(7_919 + worker));
    const world: World = { secrets, accountId, returned, db: faulty };
    for (let count = 0; count < OPERATIONS / WORKERS; count += 1) {
      await operate(world, draw).catch((error: unknown) => {
        const fault = faultOf(error);
        faults.set(fault, (faults.get(fault) ?? 0) + 1);
      });
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  await writers.close();
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
}, 600_000);
