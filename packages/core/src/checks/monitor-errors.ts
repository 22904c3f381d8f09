import { type FieldError, toPointer } from '@tocsin/contracts/errors';
import type { Assertions } from '@tocsin/contracts/monitors/assertions';
import { monitorConflicts, type MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { jsonPathProblem } from './json-path.ts';
import { expressionProblem } from './regular-expression.ts';
import { findTlsErrors } from './tls-errors.ts';

/** Returns the errors of a valid monitor that its schema cannot find, including those of JSON paths, regular expressions, certificates and keys. */
export function monitorErrors(input: Pick<MonitorInput, 'method' | 'assertions' | 'tls'>): FieldError[] {
  const { assertions, tls } = input;
  return [
    ...monitorConflicts(input),
    ...expressionErrors(assertions),
    ...(tls === null ? [] : findTlsErrors(tls)),
  ];
}

function expressionErrors(assertions: Assertions | null): FieldError[] {
  const { headers = [], json = [], bodyMatches } = assertions ?? {};
  return [
    ...headers.flatMap(({ matches }, index) => errorOf(['headers', index, 'matches'], matches)),
    ...errorOf(['bodyMatches'], bodyMatches),
    ...json.flatMap(({ path, matches }, index) =>
      errorAt(['json', index, 'path'], 'JSON path', jsonPathProblem(path)).concat(
        errorOf(['json', index, 'matches'], matches),
      ),
    ),
  ];
}

function errorOf(path: readonly (string | number)[], pattern: string | undefined): FieldError[] {
  return errorAt(path, 'regular expression', pattern === undefined ? null : expressionProblem(pattern));
}

function errorAt(path: readonly (string | number)[], noun: string, problem: string | null): FieldError[] {
  if (problem === null) return [];
  const steps = ['assertions', ...path.map(String)];
  const message = `is not a valid ${noun}: ${problem}`;
  return [{ path: steps.join('.'), pointer: toPointer(steps), code: 'format', message }];
}
