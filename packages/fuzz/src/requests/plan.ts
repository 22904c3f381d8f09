import * as fc from 'fast-check';
import { AUTH_ROUTES, ROUTES } from '../routes/routes.ts';
import type { Route } from '../routes/route.ts';
import { referenceTo } from '../values/references.ts';
import { bodiesFor, type BodyPlan } from './body.ts';
import { queriesFor } from './query.ts';
import { twists, type Twist } from './twist.ts';

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
  const { kind, body } = route;
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
