import { isDeepStrictEqual } from 'node:util';
import { ERRORS, problemSchema } from '@tocsin/contracts/errors';
import type { Route } from '../routes/route.ts';
import type { Answer } from '../wire/send.ts';
import { demand, Finding } from './finding.ts';

/** Statuses of what Node refuses before it is a request of ours. */
const PROTOCOL_STATUSES = new Set([400, 408, 431]);

const TYPES = new Map(
  Object.entries(ERRORS).map(([code, { status }]) => [
    `urn:tocsin:problem:${code.replaceAll('_', '-')}`,
    status,
  ]),
);

/**
 * What every answer must be, whatever was asked: no 5xx, and of its schema.
 * @param route null: of no route of ours that is known
 * @returns the body, where it is JSON
 * @throws Finding
 */
export function judgeAnswer(
  route: Route | null,
  { status, headers, text }: Answer,
  isHead: boolean,
): unknown {
  demand(status < 500, `answered ${status}: ${text.slice(0, 500)}`);
  demand(headers['x-request-id'] !== undefined, `${status} without X-Request-Id`);
  if (isHead) {
    demand(text === '', 'an answer to HEAD with a body');
    return undefined;
  }
  if (route?.answer === 'any') return undefined;
  // `If-None-Match: *`.
  if (status === 304 && text === '') return undefined;
  if (status >= 400) return judgeProblem({ status, headers, text });
  demand(route === null || status === route.ok, `answered ${status}, not ${route?.ok}`);
  if (route === null || typeof route.answer === 'string') return undefined;
  if (route.answer === null) {
    demand(text === '', `a ${status} with a body`);
    return undefined;
  }
  demand(
    headers['content-type'] === 'application/json; charset=utf-8',
    `success of type ${headers['content-type']}`,
  );
  const body = parse(text);
  const judged = route.answer.safeParse(body);
  demand(judged.success, `a success against its schema: ${judged.error?.message}\n${text.slice(0, 1_000)}`);
  return body;
}

function judgeProblem({ status, headers, text }: Pick<Answer, 'status' | 'headers' | 'text'>): unknown {
  const type = headers['content-type'];
  demand(
    type === 'application/problem+json; charset=utf-8',
    `an error of type ${type}: ${text.slice(0, 200)}`,
  );
  const body = parse(text);
  const problem = problemSchema.safeParse(body);
  demand(problem.success, `an error against its schema: ${problem.error?.message}\n${text.slice(0, 500)}`);
  const { data } = problem;
  demand(data.status === status, `a problem of status ${data.status} in a ${status}`);
  demand(data.instance === headers['x-request-id'], 'a problem that names another request');
  const isDocumented =
    TYPES.get(data.type) === status || (data.type === 'about:blank' && PROTOCOL_STATUSES.has(status));
  demand(isDocumented, `a problem of an unknown type: ${data.type} ${status}`);
  demand(
    status !== 401 || headers['www-authenticate'] !== undefined || !text.includes('unauthorized'),
    'a 401 without WWW-Authenticate',
  );
  demand(status !== 405 || headers.allow !== undefined, 'a 405 without Allow');
  return body;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Finding(`no JSON: ${text.slice(0, 200)}`);
  }
}

/** @throws Finding where a field is not as expected; other fields are not looked at */
export function demandFields(what: string, actual: object, expected: object): void {
  for (const [name, value] of Object.entries(expected)) {
    const given = (actual as Record<string, unknown>)[name];
    demand(
      isDeepStrictEqual(given, value),
      `${what}: ${name} is ${JSON.stringify(given)}, not ${JSON.stringify(value)}`,
    );
  }
}
