import { describe, expect, test } from '@jest/globals';
import { MIGRATIONS } from '@tocsin/db/database/migrate';
import { type Migration, readMigrations } from '@tocsin/db/database/read-migrations';

/** Tables with a few rows for each person. Every other table may be large, or every recorded check writes to it. */
const SMALL = new Set([
  'accounts',
  'api_keys',
  'channels',
  'invitations',
  'memberships',
  'user_logins',
  'users',
]);

/**
 * Parts of the previous release's schema that its services do not need, each with the reason. Nothing else may be dropped, because these
 * services still run during and after the migration. A column is named with its table.
 */
const UNNEEDED: ReadonlySet<string> = new Set([
  // A delivery is deleted with its channel, and the channel with its account.
  'deliveries_account_id_accounts_id_fk',
  'deliveries_channel_id_channels_id_fk',
  // `deliveries_channel_newest_idx` replaces them.
  'deliveries_channel_idx',
  'deliveries_channel_state_idx',
  // A user may have several accounts, and another role in each.
  'users_account_id_accounts_id_fk',
  'users_role_known',
  // The changes of a deleted account are deleted with its monitors.
  'status_changes_account_id_accounts_id_fk',
  // Extended by the role viewer.
  'invitations_role_known',
]);

/** Statements that a migration that builds indexes may contain. Each can run again after a crash. */
const CONCURRENT = /^(CREATE (UNIQUE )?INDEX CONCURRENTLY "|DROP INDEX CONCURRENTLY IF EXISTS ")/;

/** Allowed changes of a large table in a transaction. None reads or writes rows while it holds its lock. */
const BRIEF = [
  /^LOCK TABLE "\w+" IN ACCESS EXCLUSIVE MODE;?$/,
  /^ALTER TABLE "\w+" ADD COLUMN "\w+" (?!.*\b(DEFAULT|NOT NULL|UNIQUE|CHECK|REFERENCES|GENERATED)\b)/,
  /^ALTER TABLE "\w+" ADD COLUMN "\w+" [\w()[\] ]+ DEFAULT ('[^']*'(::\w+)?|\d+|true|false)( NOT NULL)?;?$/,
  /^ALTER TABLE "\w+" DROP (COLUMN|CONSTRAINT) "\w+";?$/,
  /^ALTER TABLE "\w+" ALTER COLUMN "\w+" (SET DEFAULT .*|DROP DEFAULT|DROP NOT NULL);?$/,
  /^ALTER TABLE "\w+" ADD CONSTRAINT .* NOT VALID;?$/,
];

const migrations = readMigrations(MIGRATIONS);

/** Tables by index, as far as migrations name them. */
const tableOfIndex = new Map(
  migrations
    .flatMap(({ statements }) => statements)
    .flatMap((statement) => {
      const [, index, table] =
        /^CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?"(\w+)" ON "(\w+)"/.exec(statement) ?? [];
      return index === undefined || table === undefined ? [] : [[index, table] as const];
    }),
);

/** Returns why services of this and the previous release cannot run during and after a migration, or nothing (docs/runbooks/upgrade.md). */
function faultsOf(
  { isConcurrent, statements }: Pick<Migration, 'isConcurrent' | 'statements'>,
  unneeded: ReadonlySet<string> = UNNEEDED,
): string[] {
  const dropsNeeded = (statement: string): boolean => {
    const name = droppedBy(statement);
    return name !== null && !unneeded.has(name) && !SMALL.has(tableOfIndex.get(name) ?? '');
  };
  if (isConcurrent) {
    return statements.filter((statement) => !CONCURRENT.test(statement) || dropsNeeded(statement));
  }
  const created = new Set(
    statements.map((statement) => /^CREATE TABLE "(\w+)"/.exec(statement)?.[1] ?? null),
  );
  return statements.map(withoutComments).filter((statement) => {
    const table =
      /^(?:CREATE (?:UNIQUE )?INDEX .* ON|ALTER TABLE|LOCK TABLE|UPDATE|DELETE FROM|INSERT INTO) "(\w+)"/.exec(
        statement,
      )?.[1] ?? tableOfIndex.get(/^DROP INDEX "(\w+)"/.exec(statement)?.[1] ?? '');
    if (table === undefined) return !/^CREATE (TABLE|VIEW|FUNCTION) /.test(statement);
    if (created.has(table)) return false;
    if (dropsNeeded(statement)) return true;
    return !SMALL.has(table) && !BRIEF.some((form) => form.test(statement));
  });
}

/** Returns the index, constraint or column that a statement drops, or null. */
function droppedBy(statement: string): string | null {
  const [, table, column] = /^ALTER TABLE "(\w+)" DROP COLUMN "(\w+)"/.exec(statement) ?? [];
  if (table !== undefined && column !== undefined) return `${table}.${column}`;
  const form = /^(?:ALTER TABLE "\w+" DROP CONSTRAINT|DROP INDEX(?: CONCURRENTLY)?(?: IF EXISTS)?) "(\w+)"/;
  return form.exec(statement)?.[1] ?? null;
}

function withoutComments(statement: string): string {
  return statement.replace(/^--.*\n/gm, '');
}

/** The first migration is excluded, because no service runs yet. */
test('services can run during every migration but the first', () => {
  const faults = migrations.slice(1).map((migration) => [migration.tag, faultsOf(migration)]);
  expect(faults.filter(([, found]) => found?.length !== 0)).toEqual([]);
});

test('migrations are in the order in which they were generated', () => {
  const times = migrations.map(({ createdAt }) => createdAt);
  expect(times).toEqual([...new Set(times)].toSorted((one, other) => one - other));
});

describe('the rules reject', () => {
  test.each([
    [
      'an index of a large table in a transaction',
      ['CREATE INDEX "x" ON "deliveries" USING btree ("state")'],
    ],
    ['an index of an unknown table that is dropped', ['DROP INDEX "user_logins_x"']],
    ['an index of a large table that is dropped in a transaction', ['DROP INDEX "events_x"']],
    [
      'an index that services of the previous release need',
      ['DROP INDEX CONCURRENTLY IF EXISTS "deliveries_pending_idx"'],
    ],
    ['a column that they need', ['ALTER TABLE "monitors" DROP COLUMN "url"']],
    [
      'a constraint that they need',
      ['ALTER TABLE "monitors" DROP CONSTRAINT "monitors_account_id_accounts_id_fk"'],
    ],
    ['a change of a table that is not known to be small', ['UPDATE "user_logins_x" SET "x" = 1']],
    ['a constraint that is validated at once', ['ALTER TABLE "monitors" ADD CONSTRAINT "x" CHECK (true)']],
    ['a column of another type', ['ALTER TABLE "attempts" ALTER COLUMN "number" SET DATA TYPE bigint']],
    [
      'a default that is computed for each row',
      ['ALTER TABLE "monitors" ADD COLUMN "x" uuid DEFAULT gen_random_uuid()'],
    ],
    ['a change of every row', ['UPDATE "monitors" SET "status" = \'PENDING\'']],
    [
      'an index next to a statement that needs a transaction',
      [
        'CREATE INDEX CONCURRENTLY "x" ON "deliveries" ("state")',
        'ALTER TABLE "deliveries" ADD COLUMN "x" text',
      ],
    ],
    ['an index that cannot be dropped again', ['DROP INDEX CONCURRENTLY "x"']],
  ])('%s', (_, statements) => {
    const isConcurrent = statements.some((statement) => statement.includes('CONCURRENTLY'));
    expect(faultsOf({ isConcurrent, statements })).toHaveLength(1);
  });
});

test('the rules allow dropping what the previous release does not need', () => {
  const unneeded = new Set(['deliveries_pending_idx', 'monitors.url']);
  const statements = ['DROP INDEX CONCURRENTLY IF EXISTS "deliveries_pending_idx"'];
  expect(faultsOf({ isConcurrent: true, statements }, unneeded)).toEqual([]);
  const inTransaction = ['ALTER TABLE "monitors" DROP COLUMN "url"'];
  expect(faultsOf({ isConcurrent: false, statements: inTransaction }, unneeded)).toEqual([]);
});

test('the rules allow changes of small and new tables', () => {
  const statements = [
    'CREATE TABLE "x" (\n\t"id" uuid PRIMARY KEY NOT NULL\n);',
    'ALTER TABLE "x" ADD CONSTRAINT "x_fk" FOREIGN KEY ("id") REFERENCES "public"."monitors"("id")',
    'CREATE INDEX "x_idx" ON "x" USING btree ("id")',
    'CREATE FUNCTION "f"("id" uuid) RETURNS uuid LANGUAGE sql RETURN "id"',
    'CREATE VIEW "v" AS SELECT "id" FROM "x"',
    'ALTER TABLE "api_keys" ADD COLUMN "x" uuid',
    'CREATE INDEX "keys_idx" ON "api_keys" USING btree ("x")',
    'DROP INDEX "user_logins_user_provider_key"',
    'ALTER TABLE "monitors" ADD COLUMN "x" text',
    'ALTER TABLE "monitors" ADD COLUMN "y" integer DEFAULT 0 NOT NULL',
  ];
  expect(faultsOf({ isConcurrent: false, statements })).toEqual([]);
});
