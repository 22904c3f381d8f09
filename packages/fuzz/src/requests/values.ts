import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { safeParse } from 'zod/v4/core';
import { soundValuesOfField, valuesOfField } from './fields.ts';

/** What ids of ours name. */
export const KINDS = [
  'monitor',
  'channel',
  'maintenanceWindow',
  'apiKey',
  'invitation',
  'user',
  'delivery',
  'incident',
  'token',
] as const;
export type Kind = (typeof KINDS)[number];

export type Source = 'own' | 'foreign' | 'gone';

const SOURCES: readonly Source[] = [
  'own',
  'own',
  'own',
  'own',
  'own',
  'own',
  'own',
  'own',
  'foreign',
  'gone',
];

/**
 * An id that is only known when it is used: of something that the account has, had, or another account has.
 * In texts: `@own:monitor:3`, counted from the newest and around; with `:upper` in capitals.
 */
export function referenceTo(kind: Kind): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...SOURCES), fc.nat({ max: 5 }))
    .map(([source, index]) => `@${source}:${kind}:${index}`);
}

/** An instant so many hours from when it is used. In texts: `@hours:3`. */
export function hoursFromNow(min: number, max: number): fc.Arbitrary<string> {
  return fc.integer({ min, max }).map((hours) => `@hours:${hours}`);
}

const REFERENCE = /@(own|foreign|gone):(\w+):(\d+)(:upper)?/g;
const INSTANT = /@hours:(-?\d+)/g;

/** Puts ids and instants where references stand. */
export function resolveReferences(
  text: string,
  find: (source: Source, kind: Kind, index: number) => string,
): string {
  return text
    .replaceAll(REFERENCE, (_, source: Source, kind: Kind, index: string, upper?: string) => {
      const id = find(source, kind, Number(index));
      return upper === undefined ? id : id.toUpperCase();
    })
    .replaceAll(INSTANT, (_, hours: string) =>
      new Date(Date.now() + Number(hours) * 3_600_000).toISOString(),
    );
}

/** Texts that mean something to JSON, URLs, SQL, headers, prototypes, terminals or storage. */
const HOSTILE_TEXTS = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
  '\ufeff',
  '\u202e',
  '\u2028',
  'İ',
  'ß'.repeat(200),
  '😀'.repeat(130),
  '👨‍👩‍👧‍👦',
  'e\u0301'.repeat(128),
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'null',
  'undefined',
  'NaN',
  '1e309',
  '-0',
  "'; drop table monitors; --",
  '" or ""="',
  '%00',
  '%',
  '../../etc/passwd',
  '{}',
  '[]',
  '\r\nX-Injected: 1',
  '<script>alert(1)</script>',
  '${7*7}',
  '\x1b[31m',
  'a'.repeat(255),
  'a'.repeat(256),
  'a'.repeat(10_001),
  'a'.repeat(70_000),
] as const;

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((c) => String.fromCharCode(c)) }),
  },
);

/** Text as people write it, in every script. */
const plainText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'grapheme-ascii', maxLength: 30 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom('Shop', 'Größe', '東京', 'עברית', 'مراقبة', '😀'),
);

/** Text of about these lengths, and a little outside of them. */
function textOf(min: number, max: number): fc.Arbitrary<string> {
  const most = Math.min(max, 70_000);
  const lengths = fc
    .constantFrom(min - 1, min, min + 1, most - 1, most, most + 1)
    .filter((length) => length >= 0);
  const padded = fc
    .tuple(lengths, fc.constantFrom('a', 'ä', '東', '😀'))
    .map(([length, letter]) => letter.repeat(Math.ceil(length / letter.length)).slice(0, length));
  return fc.oneof(
    { weight: 6, arbitrary: plainText },
    { weight: 1, arbitrary: padded },
    { weight: 1, arbitrary: hostileText },
  );
}

/** JSON values of every type, of no schema. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 2, arbitrary: hostileText },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      null,
      true,
      false,
      0,
      -1,
      1,
      5,
      60,
      1.5,
      2 ** 31,
      2 ** 53,
      -(2 ** 53),
      1e308,
      5e-324,
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      [],
      {},
      [[]],
      [null],
      { a: 1 },
      { toString: 1 },
      { constructor: { prototype: {} } },
    ),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }) },
);

/** An object that has a key twice. */
export const TWICE = '{"a":1,"a":2}';

/** Texts of JSON that no value of ours is written as. */
export const oddJson: fc.Arbitrary<string> = fc.constantFrom(
  '1e309',
  '-1e309',
  '-0',
  '-0.0',
  '60.0',
  '6e1',
  '9007199254740993',
  '1'.repeat(400),
  '"\\ud800"',
  '"\\u0000"',
  '"\\uDC00\\uD800"',
  '{"__proto__":{"polluted":true}}',
  TWICE,
  '{"constructor":{"prototype":{"polluted":true}}}',
  `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
);

type Schema = z.core.$ZodType;

/** What the checks on a schema say. */
interface Bounds {
  readonly min?: number;
  readonly max?: number;
  readonly pattern?: RegExp;
}

/**
 * Values for a schema of the contracts, read from the schema itself: inside, at and just outside of its bounds. What they are in truth,
 * the schema says: refinements and transformations cannot be read, so a few of the values are refused.
 * @param field the name of the field, for what its schema does not say
 * @param ids what an id in this place names
 */
export function valuesOf(schema: Schema, field = '', ids: Kind = 'monitor'): fc.Arbitrary<unknown> {
  const def = defOf(schema);
  if (def.type === 'nullable') return fc.option(valuesOf(def.innerType, field, ids), { freq: 5 });
  if (def.type === 'optional' || def.type === 'default') return valuesOf(def.innerType, field, ids);
  const known = valuesOfField(field);
  if (known !== undefined) return known;
  if (def.type === 'object') return objectOf(def.shape, (part, name) => valuesOf(part, name, ids));
  if (def.type === 'array') return arraysOf(def.element, field, ids);
  if (def.type === 'pipe') return valuesOf(def.in, field, ids);
  if (def.type === 'enum') return fc.constantFrom(...Object.values(def.entries));
  if (def.type === 'literal') return fc.constantFrom(...def.values);
  if (def.type === 'union') return fc.oneof(...def.options.map((option) => valuesOf(option, field, ids)));
  if (def.type === 'boolean') return fc.boolean();
  if (def.type === 'number') return numbersOf(boundsOf(def));
  if (def.type === 'string') return textsOf(boundsOf(def), 'format' in def ? String(def.format) : '', ids);
  return anyJson;
}

/** The same, but each field of an object by itself is one that its schema takes, and mostly the api. What is between fields, it says. */
export function goodValuesOf(schema: Schema): fc.Arbitrary<unknown> {
  const def = defOf(schema);
  if (def.type === 'pipe') return goodValuesOf(def.in);
  if (def.type !== 'object') return valuesOf(schema);
  return objectOf(def.shape, (part, name) => {
    const partDef = defOf(part);
    if (partDef.type === 'array' && defOf(partDef.element).type === 'object')
      return fc.array(goodValuesOf(partDef.element), { maxLength: 3 });
    const taken = valuesOf(part, name).filter((value) => takes(part, value));
    const sound = soundValuesOfField(name);
    return sound === undefined
      ? taken
      : fc.oneof({ weight: 4, arbitrary: sound }, { weight: 1, arbitrary: taken });
  });
}

/** An id stands where a reference does. */
function takes(schema: Schema, value: unknown): boolean {
  const text = resolveReferences(JSON.stringify(value) ?? 'null', () => randomUUID());
  return safeParse(schema, JSON.parse(text)).success;
}

function defOf({ _zod: { def } }: Schema): z.core.$ZodTypes['_zod']['def'] {
  return def as z.core.$ZodTypes['_zod']['def'];
}

function boundsOf({ checks = [] }: { checks?: readonly z.core.$ZodCheck[] | undefined }): Bounds {
  const bounds = checks.map(({ _zod: { def: checkDef } }): Bounds => {
    const def = checkDef as z.core.$ZodChecks['_zod']['def'];
    if (def.check === 'greater_than') return { min: Number(def.value) };
    if (def.check === 'less_than') return { max: Number(def.value) };
    if (def.check === 'min_length') return { min: def.minimum };
    if (def.check === 'max_length') return { max: def.maximum };
    if (def.check === 'string_format' && def.pattern !== undefined) return { pattern: def.pattern };
    return {};
  });
  return Object.assign({}, ...bounds) as Bounds;
}

function objectOf(
  shape: Readonly<Record<string, Schema>>,
  valuesFor: (schema: Schema, name: string) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  const fields = Object.entries(shape);
  const required = fields
    .filter(
      ([
        ,
        {
          _zod: { optin },
        },
      ]) => optin !== 'optional',
    )
    .map(([name]) => name);
  const values = Object.fromEntries(fields.map(([name, schema]) => [name, valuesFor(schema, name)]));
  return fc.record(values, { requiredKeys: required });
}

function arraysOf(element: Schema, field: string, ids: Kind): fc.Arbitrary<unknown> {
  const values = valuesOf(element, field, ids);
  return fc.oneof(
    { weight: 6, arbitrary: fc.array(values, { maxLength: 3 }) },
    {
      weight: 1,
      arbitrary: fc.tuple(values, fc.constantFrom(21, 500)).map(([value, count]) => Array(count).fill(value)),
    },
  );
}

function numbersOf({ min = -1_000, max = 1_000 }: Bounds): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min, max }) },
    { weight: 1, arbitrary: fc.constantFrom(min - 1, min, min + 1, max - 1, max, max + 1, min + 0.5, -0, 0) },
  );
}

function textsOf(
  { min = 0, max = 1_000, pattern }: Bounds,
  format: string,
  ids: Kind,
): fc.Arbitrary<unknown> {
  if (format === 'uuid') {
    const anyId = fc.oneof(
      fc.uuid(),
      fc.constantFrom(
        '',
        '00000000-0000-0000-0000-000000000000',
        'ffffffff-ffff-ffff-ffff-ffffffffffff',
        'x',
      ),
    );
    const upperCase = referenceTo(ids).map((reference) => `${reference}:upper`);
    return fc.oneof(
      { weight: 8, arbitrary: referenceTo(ids) },
      { weight: 1, arbitrary: anyId },
      { weight: 1, arbitrary: upperCase },
    );
  }
  if (pattern !== undefined) {
    return fc.oneof(
      { weight: 4, arbitrary: fc.stringMatching(pattern) },
      { weight: 1, arbitrary: textOf(0, 20) },
    );
  }
  return textOf(min, max);
}
