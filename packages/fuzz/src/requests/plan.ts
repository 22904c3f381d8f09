import * as fc from 'fast-check';
import { z } from 'zod';
import { AUTH_ROUTES, ROUTES } from './routes.ts';
import type { Route } from './routes.ts';
import { type Twist, twists } from './twist.ts';
import { anyJson, goodValuesOf, hostileText, oddJson, referenceTo, valuesOf } from './values.ts';

/** The keys of a JSON object with the text of each value, so that it can hold what no object can: a key twice, 1e309. */
type BodyPlan = readonly (readonly [key: string, json: string])[];

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
function bodiesFor(schema: z.ZodType | null): fc.Arbitrary<BodyPlan> {
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

type Query = readonly (readonly [string, string])[];

/** Parameters whose form no schema says in a way that can be read from it. */
const PARAMETERS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  monitorIds: fc.array(referenceTo('monitor'), { maxLength: 3 }).map((ids) => ids.join(',')),
};
const oddNames = fc.constantFrom('__proto__', 'limit[]', 'limit[a]', 'constructor', '', 'LIMIT', 'x');

/** Queries that a route takes, and others: repeated, nested and unknown parameters, hostile values. */
function queriesFor({ query }: Route): fc.Arbitrary<Query> {
  const odd = fc.array(fc.tuple(oddNames, hostileText.map(short)), { maxLength: 3 });
  if (!(query instanceof z.ZodObject))
    return fc.oneof({ weight: 9, arbitrary: fc.constant<Query>([]) }, { weight: 1, arbitrary: odd });
  const pairs = Object.entries(query.shape).map(([name, schema]) =>
    fc
      .oneof(
        { weight: 4, arbitrary: PARAMETERS[name] ?? valuesOf(schema as z.ZodType, name) },
        { weight: 1, arbitrary: hostileText },
      )
      .map((value) => [name, short(String(value))] as const),
  );
  const some = fc.array(fc.oneof(...pairs), { maxLength: 3 });
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant<Query>([]) },
    { weight: 6, arbitrary: some },
    { weight: 1, arbitrary: odd },
  );
}

/** A head has room for 16 KiB. */
function short(text: string): string {
  return text.slice(0, 300);
}

/** Who asks. `stale`: a key or cookie that was one; `other kind`: a session at `/api/cli`, a key at the dashboard. */
const CALLERS = ['full', 'lesser', 'nobody', 'garbage', 'stale', 'other kind'] as const;
export type Caller = (typeof CALLERS)[number];

/** A request as it is to be made; what stands for ids is known when it is made. Plain data, so that it can be printed and shrunk. */
export interface Plan {
  readonly route: string;
  readonly caller: Caller;
  /** What stands for `:id`; percent-encoded where it is not an id of ours. */
  readonly id: string;
  readonly query: readonly (readonly [string, string])[];
  readonly body: BodyPlan | null;
  readonly twist: Twist | null;
}

const callers = fc.oneof(
  { weight: 16, arbitrary: fc.constant<Caller>('full') },
  { weight: 2, arbitrary: fc.constant<Caller>('lesser') },
  { weight: 2, arbitrary: fc.constantFrom(...CALLERS) },
);

const oddIds = fc.constantFrom(
  'x',
  '%00',
  '%FF',
  '%',
  '%2e%2e',
  '..%2f..%2fusers',
  '__proto__',
  'constructor',
  '0',
  '-1',
  'null',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '%7B019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c%7D',
  '019a9f0e5d2e7c118f5a1c1f4d1b2a3c',
  '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c',
  '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c%0A',
  '%F0%9F%98%80',
  'a'.repeat(2_000),
);

function plansFor(name: string, route: Route): fc.Arbitrary<Plan> {
  const { resource: kind, body } = route;
  const ids =
    kind === undefined
      ? fc.constant('')
      : fc.oneof(
          { weight: 12, arbitrary: referenceTo(kind) },
          { weight: 1, arbitrary: referenceTo(kind).map((reference) => `${reference}:upper`) },
          { weight: 2, arbitrary: oddIds },
        );
  return fc.record({
    route: fc.constant(name),
    caller: callers,
    id: ids,
    query: queriesFor(route),
    // Where no body is asked for, one is sent now and then.
    body: body === undefined ? mostlyNone(bodiesFor(null)) : fc.option(bodiesFor(body), { freq: 20 }),
    twist: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: twists }),
  });
}

function mostlyNone(bodies: fc.Arbitrary<BodyPlan>): fc.Arbitrary<BodyPlan | null> {
  return fc.oneof({ weight: 19, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: bodies });
}

/** Requests to every route, the important ones more often. */
export const plans: fc.Arbitrary<Plan> = fc.oneof(
  ...Object.entries({ ...ROUTES, ...AUTH_ROUTES }).map(([name, route]) => ({
    weight: route.weight ?? 10,
    arbitrary: plansFor(name, route),
  })),
);
