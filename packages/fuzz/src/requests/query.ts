import * as fc from 'fast-check';
import { z } from 'zod';
import type { Route } from '../routes/route.ts';
import { referenceTo } from '../values/references.ts';
import { hostileText } from '../values/text.ts';
import { valuesOf } from '../values/values-of.ts';

type Query = readonly (readonly [string, string])[];

/** Parameters whose form no schema says in a way that can be read from it. */
const PARAMETERS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  monitorIds: fc.array(referenceTo('monitor'), { maxLength: 3 }).map((ids) => ids.join(',')),
};
const oddNames = fc.constantFrom('__proto__', 'limit[]', 'limit[a]', 'constructor', '', 'LIMIT', 'x');

/** Queries that a route takes, and others: repeated, nested and unknown parameters, hostile values. */
export function queriesFor({ query }: Route): fc.Arbitrary<Query> {
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
