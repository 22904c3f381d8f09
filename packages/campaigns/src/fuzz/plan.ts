import { RESPONSE_AT } from '@tocsin/api/testing/monitors';
import * as fc from 'fast-check';
import type { z } from 'zod';
import type { WireRequest } from './send.ts';
import { ROUTES, type Route } from './routes.ts';
import { twists, type Twist } from './twist.ts';
import { fieldValuesOf, validValuesOf, valuesOf } from './schema-values.ts';
import { anyJson, hostileText, mostly, oddJson, oneOf, referenceTo, REPEATED_KEY } from './values.ts';

/**
 * A `stale` caller has a deleted key or an expired session. An `other kind` caller uses a session for the CLI API, or a key for the
 * dashboard API.
 */
const CALLERS = ['full', 'lesser', 'anonymous', 'garbage', 'stale', 'other kind'] as const;
export type Caller = (typeof CALLERS)[number];

/** The keys of a JSON object with their values as text, so that a body can repeat a key or contain the number 1e309. */
export type BodyPlan = readonly (readonly [key: string, json: string])[];
type Query = readonly (readonly [name: string, value: string])[];

/** A request before its references are resolved. It is plain data, so that fast-check can print and shrink it. */
export interface Plan {
  readonly route: string;
  readonly caller: Caller;
  /** The `:id` or other parameter of the path, percent-encoded. */
  readonly id: string;
  /** The next parameter of the path, or an empty text. */
  readonly parameter: string;
  readonly query: Query;
  readonly body: BodyPlan | null;
  readonly twist: Twist | null;
}

export interface ResolvedPlan {
  readonly plan: Plan;
  readonly route: Route;
  readonly method: string;
  readonly id: string;
  readonly query: string;
  readonly body: string | null;
  readonly wire: WireRequest;
}

const oddKey = oneOf(
  '__proto__ constructor prototype toString hasOwnProperty Name NAME id accountId a.b $where',
  ['', ' ', '\0', '\ud800'],
);
const oddId = oneOf(
  `x 0 -1 null __proto__ constructor % %00 %FF %2e%2e ..%2f..%2fusers %F0%9F%98%80
  00000000-0000-0000-0000-000000000000 ffffffff-ffff-ffff-ffff-ffffffffffff
  019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c 019a9f0e5d2e7c118f5a1c1f4d1b2a3c
  %7B019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c%7D 019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c%0A`,
  'a'.repeat(2_000),
);
const encodedText = short(hostileText).map((text) => encodeURIComponent(text.toWellFormed()));
const oddParameter = oneOf('__proto__ limit[] limit[a] constructor LIMIT x', '');

/** Most bodies have only valid fields. Others are at the bounds of the schema, or contain a few mistakes. */
function bodiesFor(schema: z.ZodObject): fc.Arbitrary<BodyPlan> {
  const valid = validValuesOf(schema).map(toPlan);
  const mistaken = fc
    .tuple(valid, fc.array(mutations, { minLength: 1, maxLength: 3 }))
    .map(([body, changes]) => changes.reduce(mutate, body));
  return fc.oneof(
    { weight: 3, arbitrary: valid },
    { weight: 1, arbitrary: valuesOf(schema).map(toPlan) },
    { weight: 2, arbitrary: mistaken },
  );
}

const anyBody = fc.dictionary(fc.string({ maxLength: 5 }), anyJson, { maxKeys: 3 }).map(toPlan);

function toPlan(value: unknown): BodyPlan {
  const fields = Object.entries(value as object).filter(([, part]) => part !== undefined);
  return fields.map(([key, part]) => [key, JSON.stringify(part)]);
}

const mutations = fc.record({
  kind: fc.constantFrom('replace', 'replace', 'remove', 'add', 'repeat'),
  at: fc.nat(),
  key: oddKey,
  json: mostly(
    anyJson.map((value) => JSON.stringify(value)),
    oddJson,
  ),
});
type Mutation = typeof mutations extends fc.Arbitrary<infer Value> ? Value : never;

function mutate(body: BodyPlan, { kind, at, key, json }: Mutation): BodyPlan {
  const chosen = at % Math.max(body.length, 1);
  const name = body[chosen]?.[0] ?? key;
  if (kind === 'replace') return body.map((entry, index) => (index === chosen ? [name, json] : entry));
  if (kind === 'remove') return body.toSpliced(chosen, 1);
  return [...body, [kind === 'add' ? key : name, json]];
}

export function textOf(body: BodyPlan): string {
  return `{${body.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`;
}

/** Returns whether an object in the body repeats a key, or has the key `__proto__`. */
export function hasRefusedKey(body: BodyPlan): boolean {
  const keys = new Set(body.map(([key]) => key));
  if (keys.size < body.length || keys.has('__proto__')) return true;
  return body.some(([, json]) => json === REPEATED_KEY || json.includes('"__proto__":'));
}

/**
 * Formats values as query parameters. Lists are joined with commas, and objects become JSON. The head of a request is limited to 16 KiB.
 */
function short(values: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  return values.map((value) => {
    const text = Array.isArray(value) ? value.join(',') : value;
    return (typeof text === 'string' ? text : (JSON.stringify(text) ?? '')).slice(0, 300);
  });
}

/** The route's parameters, and repeated, nested and unknown ones with hostile values. */
function queriesFor({ query }: Route): fc.Arbitrary<Query> {
  const none = fc.constant<Query>([]);
  const odd = fc.array(fc.tuple(oddParameter, short(hostileText)), { maxLength: 3 });
  const ids = fc.array(referenceTo('monitor'), { maxLength: 3 });
  const pairs = Object.entries(query === undefined ? {} : fieldValuesOf(query)).map(([name, values]) =>
    fc.tuple(fc.constant(name), short(mostly<unknown>(name === 'monitorIds' ? ids : values, hostileText))),
  );
  if (pairs.length === 0) return mostly(none, odd);
  return fc.oneof(
    { weight: 2, arbitrary: none },
    { weight: 6, arbitrary: fc.array(fc.oneof(...pairs), { maxLength: 3 }) },
    { weight: 1, arbitrary: odd },
  );
}

function idsFor({ resource: kind, path }: Route): fc.Arbitrary<string> {
  if (path !== undefined && kind === undefined) {
    const usual = 'code' in path.shape ? oneOf('default eu-west-1') : referenceTo('externalId');
    return mostly(usual, encodedText, oddId);
  }
  if (kind === undefined) return fc.constant('');
  const upperCase = referenceTo(kind).map((reference) => `${reference}:upper`);
  return mostly(referenceTo(kind), upperCase, oddId);
}

/** The second parameter of a path is a timestamp, or a note of the incident that the first one names. */
function parametersFor({ resource, path }: Route): fc.Arbitrary<string> {
  if (resource === undefined || path === undefined) return fc.constant('');
  const usual =
    'noteId' in path.shape ? referenceTo('incident') : fc.constant(encodeURIComponent(RESPONSE_AT));
  return mostly(usual, encodedText, oddId);
}

export function plansFor(name: string, route: Route): fc.Arbitrary<Plan> {
  const { body } = route;
  return fc.record({
    route: fc.constant(name),
    caller: fc.oneof(
      { weight: 16, arbitrary: fc.constant<Caller>('full') },
      { weight: 2, arbitrary: fc.constant<Caller>('lesser') },
      { weight: 2, arbitrary: fc.constantFrom(...CALLERS) },
    ),
    id: idsFor(route),
    parameter: parametersFor(route),
    query: queriesFor(route),
    // A body may be missing, or sent to a route that reads none.
    body: body === undefined ? oneIn(20, anyBody) : fc.option(bodiesFor(body), { freq: 20 }),
    twist: oneIn(6, twists),
  });
}

function oneIn<T>(weight: number, values: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: weight - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: values });
}

export const plans: fc.Arbitrary<Plan> = fc.oneof(
  ...Object.entries(ROUTES).map(([name, route]) => ({
    weight: route.weight,
    arbitrary: plansFor(name, route),
  })),
);
