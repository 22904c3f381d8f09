import { expect, test } from '@jest/globals';
import { assertionsOf } from './gatus-conditions.ts';

const ANY_STATUS = { statusCodes: ['100-599'] };

test.each<[conditions: string[], assertions: object]>([
  [[], ANY_STATUS],
  [['[STATUS] == 200'], { statusCode: 200 }],
  [['[status] < 300'], { statusCodes: ['100-299'] }],
  [['[STATUS] >= 200', '[STATUS] < 400', '[STATUS] != 301'], { statusCodes: ['200-300', '302-399'] }],
  [['[STATUS] == any(200, 201, 429)'], { statusCodes: ['200-201', 429] }],
  [['[STATUS] == pat(2?4)'], { statusCodes: [204, 214, 224, 234, 244, 254, 264, 274, 284, 294] }],
  [['[STATUS] == pat(4*)'], { statusCodes: ['400-499'] }],
  [['[RESPONSE_TIME] < 150'], { ...ANY_STATUS, maxLatency: 149 }],
  [['[RESPONSE_TIME] <= 1.5s'], { ...ANY_STATUS, maxLatency: 1_500 }],
  [['[RESPONSE_TIME] < 2m'], { ...ANY_STATUS, maxLatency: 60_000 }],
  [['[CERTIFICATE_EXPIRATION] > 36h', '[CONNECTED] == true'], { ...ANY_STATUS, certificateMinDays: 2 }],
  [['[BODY] == pat(*<h1>Shop</h1>*)'], { ...ANY_STATUS, bodyContains: '<h1>Shop</h1>' }],
  [['[BODY] != pat(*a == b*)'], { ...ANY_STATUS, bodyNotContains: 'a == b' }],
  [
    ['[BODY] == pat(*a*)', '[BODY] == pat(*b.c*)'],
    { ...ANY_STATUS, bodyContains: 'a', bodyMatches: 'b\\.c' },
  ],
  [['[BODY] == 1.2.3.4'], { ...ANY_STATUS, bodyMatches: '^\\s*(?:1\\.2\\.3\\.4)\\s*$' }],
  [['[BODY] == pat(ok*)'], { ...ANY_STATUS, bodyMatches: '^\\s*(?:ok[\\s\\S]*)\\s*$' }],
  [['[BODY] == any(up, ok)'], { ...ANY_STATUS, bodyMatches: '^\\s*(?:up|ok)\\s*$' }],
])('%j become %j', (conditions, assertions) => {
  const remarks: string[] = [];
  expect(assertionsOf(conditions, remarks)).toEqual(assertions);
  expect(remarks).toEqual([]);
});

test.each<[condition: string, json: object]>([
  ['[BODY].status == UP', { path: '$.status', equals: 'UP' }],
  ['[BODY].data[0].user-id == a', { path: '$.data[0]["user-id"]', equals: 'a' }],
  ['[BODY][0].id == 1', { path: '$[0].id', matches: '^1$' }],
  ['[BODY].ok == true', { path: '$.ok', matches: '^true$' }],
  ['[BODY].token == ${TOKEN}', { path: '$.token', equals: '${TOKEN}' }],
  ['[BODY].name == pat(jo?n*)', { path: '$.name', matches: '^(?:jo[\\s\\S]n[\\s\\S]*)$' }],
  ['[BODY].name == any(john, jane)', { path: '$.name', matches: '^(?:john|jane)$' }],
  ['[BODY].name != any(a, 1)', { path: '$[?$.name == "a" || $.name == "1" || $.name == 1]', exists: false }],
  ['[BODY].state != failed', { path: '$[?$.state == "failed"]', exists: false }],
  ['has([BODY].id) == true', { path: '$[?$.id && $.id != null]', exists: true }],
  ['has([BODY].errors) == false', { path: '$[?$.errors && $.errors != null]', exists: false }],
  ['has([BODY].errors) != true', { path: '$[?$.errors && $.errors != null]', exists: false }],
  ['len([BODY].items) > 0', { path: '$[?length($.items) > 0]', exists: true }],
  ['len([BODY].name) == 8', { path: '$[?length($.name) == 8]', exists: true }],
])('%s becomes a JSON condition', (condition, json) => {
  const remarks: string[] = [];
  expect(assertionsOf([condition], remarks)).toEqual({ ...ANY_STATUS, json: [json] });
  expect(remarks).toEqual([]);
});

test.each<[condition: string, json: object]>([
  ['[BODY].age < 7200', { path: '$.age', lessThan: 7_200 }],
  ['[BODY].age > 5m', { path: '$.age', greaterThan: 300_000 }],
  ['[BODY].size >= 1', { path: '$[?$.size >= 1]', exists: true }],
  ['[BODY] > 122', { path: '$', greaterThan: 122 }],
])('%s compares a JSON number, which is reported', (condition, json) => {
  const remarks: string[] = [];
  expect(assertionsOf([condition], remarks)).toEqual({ ...ANY_STATUS, json: [json] });
  expect(remarks).toEqual([expect.stringContaining('must be a JSON number, not a number in quotes')]);
});

test.each([
  '[IP] == 127.0.0.1',
  '[DOMAIN_EXPIRATION] > 720h',
  '[STATUS] == 999',
  '[STATUS] == ${STATUS}',
  '[STATUS] >= 300 && [STATUS] <= 399',
  '[CONNECTED] == false',
  '[RESPONSE_TIME] > 10',
  '[RESPONSE_TIME] < 1',
  '[RESPONSE_TIME] < soon',
  '[BODY] != ok',
  '[BODY] == pat(${NAME}*)',
  '[BODY] == pat([a-z]*)',
  '[BODY] != pat(.*(a|b).*)i',
  'len([BODY]) == 0',
  '[BODY].a == [BODY].b',
  '[BODY].a[-] == 1',
  '[BODY].a != pat(b*)',
  `[BODY].a == ${'x'.repeat(10_001)}`,
  'nonsense',
])('%s is not imported, which is reported', (condition) => {
  const remarks: string[] = [];
  expect(assertionsOf([condition, '[BODY] == pat(*ok*)'], remarks)).toEqual({
    ...ANY_STATUS,
    bodyContains: 'ok',
  });
  expect(remarks).toEqual([`not imported: condition ${condition}`]);
});

test('a second condition of a kind that has one assertion is reported', () => {
  const remarks: string[] = [];
  assertionsOf(['[BODY] != pat(*a*)', '[BODY] != pat(*b*)'], remarks);
  expect(remarks).toEqual([
    'not imported: condition [BODY] != pat(*b*), because there is another one of its kind',
  ]);
});
