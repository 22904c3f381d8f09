import * as fc from 'fast-check';
import type { z } from 'zod';
import { anyJson, oddJson } from '../values/any-json.ts';
import { goodValuesOf, valuesOf } from '../values/values-of.ts';

/** The keys of a JSON object with the text of each value, so that it can hold what no object can: a key twice, 1e309. */
export type BodyPlan = readonly (readonly [key: string, json: string])[];

const ODD_KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '',
  ' ',
  'Name',
  'NAME',
  'id',
  'accountId',
  '\0',
  '\ud800',
  'a.b',
  '$where',
];

type Mutation = (body: BodyPlan) => BodyPlan;

/** Bodies that a schema takes, at its bounds, and with a few things wrong. @param schema null: any */
export function bodiesFor(schema: z.ZodType | null): fc.Arbitrary<BodyPlan> {
  if (schema === null) return fc.dictionary(fc.string({ maxLength: 5 }), anyJson, { maxKeys: 3 }).map(toPlan);
  const [edge, good] = [valuesOf(schema), goodValuesOf(schema)].map((values) =>
    values.map((value) => toPlan(value as object)),
  );
  if (edge === undefined || good === undefined) throw new Error('a schema gives both');
  const mutated = fc
    .tuple(good, fc.array(mutations, { minLength: 1, maxLength: 3 }))
    .map(([body, changes]) => changes.reduce((changed, mutate) => mutate(changed), body));
  return fc.oneof(
    { weight: 3, arbitrary: good },
    { weight: 1, arbitrary: edge },
    { weight: 2, arbitrary: mutated },
  );
}

function toPlan(value: object): BodyPlan {
  return Object.entries(value).flatMap(([key, part]) =>
    part === undefined ? [] : [[key, JSON.stringify(part)] as const],
  );
}

const json = fc.oneof(
  { weight: 3, arbitrary: anyJson.map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: oddJson },
);

const replaced = fc.tuple(fc.nat(), json).map(([at, value]): Mutation => {
  return (body) => body.map((entry, index) => (index === at % body.length ? [entry[0], value] : entry));
});
const removed = fc.nat().map(
  (at): Mutation =>
    (body) =>
      body.filter((_, index) => index !== at % body.length),
);
const added = fc
  .tuple(fc.constantFrom(...ODD_KEYS), json)
  .map((entry): Mutation => (body) => [...body, entry]);
const repeated = fc.tuple(fc.nat(), json).map(([at, value]): Mutation => {
  return (body) => {
    const entry = body[at % body.length];
    return entry === undefined ? body : [...body, [entry[0], value]];
  };
});

const mutations: fc.Arbitrary<Mutation> = fc.oneof(
  { weight: 4, arbitrary: replaced },
  { weight: 2, arbitrary: removed },
  { weight: 2, arbitrary: added },
  { weight: 1, arbitrary: repeated },
);
