import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PROPERTY_PARAMETERS } from '@tocsin/core/testing/property-parameters';
import { encodeArray } from '@tocsin/db/database/binary-arrays';
import { arrayOf } from '@tocsin/db/database/sql';
import { type DrizzleQueryError, sql } from 'drizzle-orm';
import * as fc from 'fast-check';
import { openTestContext, type TestContext } from './harness.ts';

fc.configureGlobal(PROPERTY_PARAMETERS);

let context: TestContext;
beforeAll(async () => {
  context = await openTestContext();
});
afterAll(() => context.close());

/** What Postgres reads in an array, as text. */
async function read(type: string, values: readonly unknown[]): Promise<(string | null)[]> {
  const { rows } = await context.db.execute<{ value: string | null }>(
    sql`select value::text from unnest(${arrayOf(type, values)}) with ordinality as u (value, position) order by position`,
  );
  return rows.map(({ value }) => value);
}

const text = fc.string({ unit: 'binary' }).filter((value) => !value.includes('\0'));
const TYPES: readonly (readonly [type: string, value: fc.Arbitrary<boolean | number | string>])[] = [
  ['bool', fc.boolean()],
  ['int', fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
  ['text', fc.oneof(text, fc.constantFrom('', 'NULL', '"', '\\', '{a,b}', 'é🙂'))],
  ['uuid', fc.uuid()],
];

test.each(TYPES)('Postgres reads an array of %s as it was', async (type, value) => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(value)), async (values) => {
      expect(await read(type, values)).toEqual(values.map((one) => (one === null ? null : String(one))));
    }),
    { numRuns: 100 },
  );
});

test('Postgres reads instants to the millisecond, as numbers and as dates', async () => {
  const time = fc.oneof(
    fc.integer({ min: Date.UTC(1970, 0), max: Date.UTC(2200, 0) }),
    fc.date({ noInvalidDate: true, min: new Date('0001-01-01'), max: new Date('9999-12-31') }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(time)), async (values) => {
      const { rows } = await context.db.execute<{ ms: number | null }>(sql`
        select (extract(epoch from time) * 1000)::float8 as ms
        from unnest(${arrayOf('timestamptz', values)}) with ordinality as u (time, position) order by position`);
      expect(rows.map(({ ms }) => ms)).toEqual(values.map((one) => (one === null ? null : Number(one))));
    }),
    { numRuns: 100 },
  );
  expect(await read('timestamptz', [-Infinity])).toEqual(['-infinity']);
});

test('undefined is null', async () => {
  expect(await read('int', [undefined, 1])).toEqual([null, '1']);
});

test.each([
  ['int', 1.5, '22P02'],
  ['int', 2 ** 31, '22003'],
  ['uuid', 'not a uuid', '22P02'],
  ['timestamptz', 'yesterday at noon or so', '22007'],
  ['text', 'a\0b', '22021'],
])('Postgres refuses %s %p as it does in other statements', async (type, value, code) => {
  const error: unknown = await read(type, [value]).catch((reason: unknown) => reason);
  expect((error as DrizzleQueryError).cause).toMatchObject({ code });
});

test('types and values without a binary form stay text', () => {
  expect(encodeArray('jsonb', [])).toBeUndefined();
  expect(encodeArray('int', [1, 'one'])).toBeUndefined();
  expect(encodeArray('int', [1, null])).toBeInstanceOf(Buffer);
});
