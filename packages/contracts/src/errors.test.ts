import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { AppError, ERRORS, problemSchema, toProblem, type ErrorCode } from './errors.ts';

const documented = readFileSync('docs/api.md', 'utf8').split('## Errors')[1] ?? '';

describe.each(Object.keys(ERRORS) as ErrorCode[])('%s', (code) => {
  test('has a valid problem document', () => {
    const error = new AppError(code, 'What went wrong.', {
      errors: [{ path: 'name', message: 'is required' }],
    });
    const problem = problemSchema.parse(toProblem(error, 'request-1'));
    expect(problem).toMatchObject({ ...ERRORS[code], detail: 'What went wrong.', instance: 'request-1' });
    expect(problem.type).toMatch(/^urn:tocsin:problem:[a-z-]+$/);
  });

  test('is documented, except for internal errors', () => {
    if (code === 'internal') return;
    expect(documented).toMatch(new RegExp(`^\\| [0-9, ]*${ERRORS[code].status}\\b`, 'm'));
  });
});
