import { z } from 'zod';
import { boundedInteger, flag, storableText } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { headerName } from './request-headers.ts';

const text = (max: number): z.ZodString =>
  storableText
    .min(1, { error: 'must not be empty' })
    .max(max, { error: `must be at most ${max} characters` });
const assertionText = text(LIMITS.assertionTextCharacters);
/** The syntax is checked where the engine is, in `core/src/checks/monitor-errors.ts`. */
const regularExpression = text(LIMITS.expressionCharacters);
const utf8 = new TextEncoder();
const finiteNumber = z.number({ error: 'must be a number' });

const CODE_RULE = 'must be a status code from 100 to 599, or a range such as "200-299"';
const CODE_RANGE = /^([1-5]\d\d)-([1-5]\d\d)$/;
const codeOrRange = z.union(
  [
    z.int().min(100, { error: CODE_RULE }).max(599, { error: CODE_RULE }),
    z
      .string()
      .regex(CODE_RANGE, { error: CODE_RULE, abort: true })
      .refine((range) => rangeOf(range)[0] <= rangeOf(range)[1], { error: CODE_RULE }),
  ],
  { error: CODE_RULE },
);

/** Returns the first and last status code of a code or range. */
export function rangeOf(codes: number | string): readonly [first: number, last: number] {
  if (typeof codes === 'number') return [codes, codes];
  const [, first, last] = CODE_RANGE.exec(codes) ?? [];
  return [Number(first), Number(last)];
}

const statusCodes = z
  .array(codeOrRange, { error: 'must be an array of status codes and ranges such as "200-299"' })
  .min(1, { error: 'must not be empty' })
  .max(LIMITS.statusCodeCount, { error: `must contain at most ${LIMITS.statusCodeCount} codes and ranges` });

/** Accepts any JSON value that PostgreSQL can store. */
const jsonValue = z.unknown().superRefine((value, context) => {
  const message = jsonValueProblem(value);
  if (message !== null) context.addIssue({ code: 'custom', message, continue: false });
});

/** Returns the error of a JSON value, or null. Uses no recursion, because the value may be nested deeply. */
function jsonValueProblem(value: unknown): string | null {
  const waiting: { readonly next: unknown; readonly depth: number }[] = [{ next: value, depth: 0 }];
  let size = 0;
  for (
    let one = waiting.pop();
    one !== undefined && size <= LIMITS.assertionTextCharacters;
    one = waiting.pop()
  ) {
    const { next, depth } = one;
    if (depth > LIMITS.jsonDepth) return `must be nested at most ${LIMITS.jsonDepth} levels deep`;
    size += typeof next === 'string' ? next.length + 2 : 2;
    if (typeof next === 'object' && next !== null) {
      for (const [key, item] of Object.entries(next))
        waiting.push({ next: key, depth }, { next: item, depth: depth + 1 });
    } else if (typeof next === 'string') {
      const { error } = storableText.safeParse(next);
      if (error) return error.issues[0]?.message ?? 'is invalid';
    }
  }
  return size > LIMITS.assertionTextCharacters
    ? `must be at most about ${LIMITS.assertionTextCharacters} characters in JSON`
    : null;
}

/** The tests of a condition. One about a header has no comparison of numbers. */
export const TESTS = ['equals', 'contains', 'matches', 'exists', 'lessThan', 'greaterThan'] as const;

const tests = {
  contains: assertionText.optional(),
  matches: regularExpression.optional().describe('A regular expression in RE2 syntax that matches a part.'),
  exists: flag.optional(),
};

const headerConditionSchema = z
  .strictObject({
    name: headerName.describe('Name of the response header, in any case.'),
    equals: assertionText.optional(),
    ...tests,
  })
  .superRefine(requireTest)
  .meta({ id: 'HeaderCondition', description: 'A condition about one header of the response.' });
export type HeaderCondition = z.infer<typeof headerConditionSchema>;

const jsonConditionSchema = z
  .strictObject({
    path: text(LIMITS.expressionCharacters).describe('A JSONPath expression (RFC 9535).'),
    equals: jsonValue.optional().describe('Any JSON value.'),
    ...tests,
    lessThan: finiteNumber.optional(),
    greaterThan: finiteNumber.optional(),
  })
  .superRefine(requireTest)
  .meta({
    id: 'JsonCondition',
    description:
      'A condition about the values that a path selects in a JSON body. It holds if one value passes every test.',
  });
export type JsonCondition = z.infer<typeof jsonConditionSchema>;

/** A condition without a test would always hold, and one about a missing value cannot also test it. */
function requireTest(condition: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  const given = TESTS.filter((test) => condition[test] !== undefined);
  if (given.length === 0) {
    const message = 'must have a test, such as `equals` or `exists`';
    context.addIssue({ code: 'custom', message });
  } else if (condition['exists'] === false && given.length > 1) {
    const message = 'must be true or absent next to other tests';
    context.addIssue({ code: 'custom', path: ['exists'], message });
  }
}

function conditions<Schema extends z.ZodType>(schema: Schema): z.ZodOptional<z.ZodArray<Schema>> {
  return z
    .array(schema, { error: 'must be an array of conditions' })
    .min(1, { error: 'must not be empty' })
    .max(LIMITS.conditionCount, { error: `must contain at most ${LIMITS.conditionCount} conditions` })
    .optional();
}

export const assertionsSchema = z
  .strictObject({
    statusCode: boundedInteger(100, 599)
      .optional()
      .describe('The exact status code of the response. Without it and `statusCodes`, 200 to 399 pass.'),
    statusCodes: statusCodes
      .optional()
      .describe('Status codes and ranges that pass, such as `[204, "300-399"]`. Excludes `statusCode`.'),
    headers: conditions(headerConditionSchema).describe('Conditions about headers of the response.'),
    bodyContains: assertionText.optional().describe('The first MiB of the body contains this text.'),
    bodyNotContains: assertionText
      .optional()
      .describe('The first MiB of the body does not contain this text.'),
    bodyMatches: regularExpression
      .optional()
      .describe('A regular expression in RE2 syntax that matches a part of the first MiB of the body.'),
    json: conditions(jsonConditionSchema).describe(
      'Conditions about the body, which must be JSON of at most 1 MiB.',
    ),
    maxLatency: boundedInteger(1, LIMITS.maxLatencyMs, 'milliseconds')
      .optional()
      .describe('The maximum duration of the exchange, in milliseconds.'),
    certificateMinDays: boundedInteger(1, LIMITS.certificateMinDays, 'days')
      .optional()
      .describe(
        'The minimum number of days until a certificate of the check expires: of any redirect, and of the verified chain except its root.',
      ),
  })
  .refine(({ statusCode, statusCodes }) => statusCode === undefined || statusCodes === undefined, {
    path: ['statusCodes'],
    error: 'cannot be used with `statusCode`: add that code to the list',
  })
  .refine((assertions) => utf8.encode(JSON.stringify(assertions)).length <= LIMITS.assertionsBytes, {
    error: `must be at most ${LIMITS.assertionsBytes} bytes in JSON`,
  })
  .meta({ id: 'Assertions', description: 'Rules that must all pass for a check to count as `UP`.' });
export type Assertions = z.infer<typeof assertionsSchema>;

/** Assertions that read the body, which a response to `HEAD` does not have. */
export const BODY_ASSERTIONS = ['bodyContains', 'bodyNotContains', 'bodyMatches', 'json'] as const;
