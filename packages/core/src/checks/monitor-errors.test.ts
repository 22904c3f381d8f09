import { expect, test } from '@jest/globals';
import { monitorErrors } from './monitor-errors.ts';

test('invalid expressions are errors at their fields, with the reason', () => {
  const assertions = {
    bodyMatches: '(',
    headers: [
      { name: 'A', matches: 'a+' },
      { name: 'B', matches: 'a(?=b)' },
    ],
    json: [{ path: '$.a[', matches: '[' }],
  };
  const error = (path: string, message: string): object => ({
    path: `assertions.${path}`,
    pointer: `/assertions/${path.replaceAll('.', '/')}`,
    code: 'format',
    message: `is not a valid ${message}`,
  });
  expect(monitorErrors({ method: 'GET', assertions, tls: null })).toEqual([
    error('headers.1.matches', 'regular expression: invalid or unsupported Perl syntax: (?='),
    error('bodyMatches', 'regular expression: missing closing ): ('),
    error('json.0.path', 'JSON path: unclosed bracketed selection at character 5'),
    error('json.0.matches', 'regular expression: missing closing ]: ['),
  ]);
  expect(monitorErrors({ method: 'HEAD', assertions: { bodyMatches: 'a' }, tls: null })).toHaveLength(1);
  expect(monitorErrors({ method: 'GET', assertions: null, tls: null })).toEqual([]);
});
