import { describe, expect, test } from '@jest/globals';
import { MIGRATIONS } from '@tocsin/db/migrate';
import { readMigrations, type Migration } from '@tocsin/db/migrations/read-migrations';

/** Tables that may be large, or that every recorded check writes. */
const LARGE = new Set([
  'attempts',
  'channel_monitors',
  'check_rollups',
  'deliveries',
  'events',
  'incidents',
  'monitor_regions',
  'monitors',
  'schedule_spans',
  'status_changes',
  'triggers',
]);

/** Tables with a few rows for each person, whose indices may be dropped in a transaction. */
const SMALL = ['user_logins'];

/** Statements that may stand beside each other in a migration that builds indices: each can be run again after a crash. */
const CONCURRENT = /^(CREATE (UNIQUE )?INDEX CONCURRENTLY "|DROP INDEX CONCURRENTLY IF EXISTS ")/;

/** What may be done to a large table in a transaction: none of it reads or writes rows while it holds its lock. */
const BRIEF = [
  /^ALTER TABLE "\w+" ADD COLUMN "\w+" (?!.*\b(DEFAULT|NOT NULL|UNIQUE|CHECK|REFERENCES|GENERATED)\b)/,
  /^ALTER TABLE "\w+" ADD COLUMN "\w+" [\w() ]+ DEFAULT ('[^']*'(::\w+)?|\d+|true|false)( NOT NULL)?;?$/,
  /^ALTER TABLE "\w+" DROP (COLUMN|CONSTRAINT) "\w+";?$/,
  /^ALTER TABLE "\w+" ALTER COLUMN "\w+" (SET DEFAULT .*|DROP DEFAULT|DROP NOT NULL);?$/,
  /^ALTER TABLE "\w+" ADD CONSTRAINT .* NOT VALID;?$/,
];

/** Why the services could not go on during a migration; empty: they can (docs/runbooks/upgrade.md). */
function faultsOf({ isConcurrent, statements }: Pick<Migration, 'isConcurrent' | 'statements'>): string[] {
  if (isConcurrent) return statements.filter((statement) => !CONCURRENT.test(statement));
  const created = new Set(
    statements.map((statement) => /^CREATE TABLE "(\w+)"/.exec(statement)?.[1] ?? null),
  );
  return statements.map(withoutComments).filter((statement) => {
    const table =
      /^(?:CREATE (?:UNIQUE )?INDEX .* ON|ALTER TABLE|UPDATE|DELETE FROM|INSERT INTO) "(\w+)"/.exec(
        statement,
      )?.[1];
    if (table === undefined) return !statement.startsWith('CREATE TABLE ') && !isSmallIndexDropped(statement);
    if (created.has(table) || !LARGE.has(table)) return false;
    return !BRIEF.some((form) => form.test(statement));
  });
}

function withoutComments(statement: string): string {
  return statement.replace(/^--.*\n/gm, '');
}

/** The table of an index that is dropped is not named, but the name of the index begins with it. */
function isSmallIndexDropped(statement: string): boolean {
  const index = /^DROP INDEX "(\w+)"/.exec(statement)?.[1];
  return index !== undefined && SMALL.some((table) => index.startsWith(`${table}_`));
}

const migrations = readMigrations(MIGRATIONS);

test.each(migrations.slice(9).map((migration) => [migration.tag, migration] as const))(
  'services go on during %s',
  (_, migration) => {
    expect(faultsOf(migration)).toEqual([]);
  },
);

test('migrations are in the order in which they were generated', () => {
  const times = migrations.map(({ createdAt }) => createdAt);
  expect(times).toEqual([...new Set(times)].toSorted((one, other) => one - other));
});

describe('services could not go on during', () => {
  test.each([
    [
      'an index of a large table in a transaction',
      ['CREATE INDEX "x" ON "deliveries" USING btree ("state")'],
    ],
    ['an index that is dropped in a transaction', ['DROP INDEX "x"']],
    ['a constraint that is validated at once', ['ALTER TABLE "monitors" ADD CONSTRAINT "x" CHECK (true)']],
    ['a column of another type', ['ALTER TABLE "attempts" ALTER COLUMN "number" SET DATA TYPE bigint']],
    [
      'a default that is computed for each row',
      ['ALTER TABLE "monitors" ADD COLUMN "x" uuid DEFAULT gen_random_uuid()'],
    ],
    ['a change of every row', ['UPDATE "monitors" SET "status" = \'PENDING\'']],
    [
      'an index beside what needs a transaction',
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

test('services go on while a small table, or a new one, is changed', () => {
  const statements = [
    'CREATE TABLE "x" (\n\t"id" uuid PRIMARY KEY NOT NULL\n);',
    'ALTER TABLE "x" ADD CONSTRAINT "x_fk" FOREIGN KEY ("id") REFERENCES "public"."monitors"("id")',
    'CREATE INDEX "x_idx" ON "x" USING btree ("id")',
    'ALTER TABLE "api_keys" ADD COLUMN "x" uuid',
    'CREATE INDEX "keys_idx" ON "api_keys" USING btree ("x")',
    'ALTER TABLE "monitors" ADD COLUMN "x" text',
    'ALTER TABLE "monitors" ADD COLUMN "y" integer DEFAULT 0 NOT NULL',
  ];
  expect(faultsOf({ isConcurrent: false, statements })).toEqual([]);
});
