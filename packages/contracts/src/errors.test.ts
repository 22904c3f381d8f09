import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { AppError, ERRORS, problemSchema, toProblem, type ErrorCode } from './errors.ts';

const documented = readFileSync('docs/api.md', 'utf8').split('## Errors')[1] ?? '';

test.each(Object.keys(ERRORS) as ErrorCode[])('%s has a valid problem document and is documented', (code) => {
  const errors = [{ path: 'name', message: 'is required' }];
  const error = new AppError(code, 'What went wrong.', { errors });
  const problem = problemSchema.parse(toProblem(error, 'request-1'));
  expect(problem).toMatchObject({
    ...ERRORS[code],
    detail: 'What went wrong.',
    instance: 'request-1',
    errors,
  });
  expect(problem.type).toBe(`urn:tocsin:problem:${code.replaceAll('_', '-')}`);
  if (code !== 'internal') {
    expect(documented).toMatch(new RegExp(`^\\| [0-9, ]*${ERRORS[code].status}\\b`, 'm'));
  }
});
