import { OPERATIONS } from '@tocsin/contracts/api/operations';
import type { Operation, Operations } from '@tocsin/contracts/api/operation';
import { SIGN_IN_OPERATIONS } from '@tocsin/contracts/api/sign-in';
import { ERRORS } from '@tocsin/contracts/errors';
import type { ErrorCode } from '@tocsin/contracts/errors';
import type { Route } from './route.ts';
import { TRIALS } from './trials.ts';

/**
 * What nothing here can bring about: no monitor is of another type, somebody always answers, and no request has an `If-Match` or an
 * `Idempotency-Key`. Scopes are judged apart.
 */
const OUT_OF_REACH: ReadonlySet<ErrorCode> = new Set([
  'forbidden',
  'not_triggerable',
  'check_not_answered',
  'request_in_flight',
  'precondition_failed',
  'idempotency_key_reused',
  'delivery_not_attempted',
]);

/** Every route of ours; `fuzz.test.ts` holds that none of the api's is missing. */
export const ROUTES: Readonly<Record<string, Route>> = toRoutes(OPERATIONS, ({ answer }) => answer);

/** Routes whose answers and errors are better-auth's: they are held to no schema of ours, and to no 5xx. */
export const AUTH_ROUTES: Readonly<Record<string, Route>> = toRoutes(SIGN_IN_OPERATIONS, () => 'any');

function toRoutes(
  operations: Operations,
  answerOf: (operation: Operation) => Route['answer'],
): Record<string, Route> {
  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => {
      const { refusals: further = [], ...trial } = TRIALS[name] ?? {};
      const own = (operation.refusals ?? []).filter((code) => !OUT_OF_REACH.has(code));
      const refusals = [...own.map((code) => ERRORS[code].status), ...further];
      return [name, { ...operation, ...trial, refusals, answer: answerOf(operation) }];
    }),
  );
}
