import { describe, expect, test } from '@jest/globals';
import { createMonitorSchema, monitorConflicts, updateMonitorSchema } from './monitor.ts';

const minimal = { name: 'Shop', url: 'https://shop.example/health' };

describe('createMonitorSchema', () => {
  test('applies the defaults', () => {
    expect(createMonitorSchema.parse(minimal)).toEqual({
      ...minimal,
      type: 'HTTP',
      interval: 60,
      timeout: 10,
      method: 'GET',
      headers: null,
      body: null,
      assertions: null,
      failureThreshold: 1,
      retryInterval: null,
      recoveryThreshold: 1,
      regions: [],
      runbookUrl: null,
      externalId: null,
      source: null,
      labels: {},
    });
  });

  test.each([
    ['http://example.com', true],
    ['HTTPS://EXAMPLE.COM/a?b#c', true],
    ['https://example.com/ä', true],
    ['example.com', false],
    ['ftp://example.com', false],
    ['https:example.com', false],
    ['https://', false],
    ['https://user:secret@example.com', false],
    ['https://user@example.com', false],
    [' https://example.com', false],
    ['https://example.com/a b', false],
    ['javascript:alert(1)', false],
    ['', false],
    ['   ', false],
    [`https://example.com/${'a'.repeat(2_028)}`, true],
    [`https://example.com/${'a'.repeat(2_029)}`, false],
  ])('url %j: %s', (url, valid) => {
    expect(createMonitorSchema.safeParse({ ...minimal, url }).success).toBe(valid);
  });

  test.each([
    ['too many', Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`X-${index}`, 'v']))],
    ['a hop-by-hop header', { Connection: 'close' }],
    ['a framing header', { 'content-length': '3' }],
    ['a line break in a value', { 'X-A': 'a\r\nX-B: b' }],
    ['a space in a name', { 'X A': 'v' }],
    ['an empty name', { '': 'v' }],
    ['a number as value', { 'X-A': 3 }],
    ['the same name twice', { 'X-A': '1', 'x-a': '2' }],
    ['__proto__', JSON.parse('{"__proto__":"x"}') as object],
    ['an array', ['X-A']],
    ['a string', 'X-A: b'],
  ])('rejects the headers %s', (_, headers) => {
    const result = createMonitorSchema.safeParse({ ...minimal, headers });
    expect(result.success).toBe(false);
    expect(result.error?.issues[0]?.path[0]).toBe('headers');
  });

  test('rejects unknown fields, including in assertions', () => {
    expect(createMonitorSchema.safeParse({ ...minimal, intervall: 60 }).success).toBe(false);
    expect(createMonitorSchema.safeParse({ ...minimal, assertions: { status: 200 } }).success).toBe(false);
  });

  test('trims the name and keeps everything else as written', () => {
    const parsed = createMonitorSchema.parse({ ...minimal, name: '  Shop ', body: ' raw ' });
    expect(parsed).toMatchObject({ name: 'Shop', body: ' raw ' });
  });

  test.each([['name'], ['url'], ['body'], ['externalId'], ['source']])(
    '%s: rejects a NUL character and a lone surrogate',
    (field) => {
      for (const text of ['a\0b', 'a\ud800b']) {
        expect(createMonitorSchema.safeParse({ ...minimal, [field]: text }).success).toBe(false);
      }
    },
  );

  test.each([
    ['a', 1],
    ['ä', 2],
    ['€', 3],
    ['🔔', 4],
    ['\ufeff', 3],
  ])('limits the body in UTF-8 bytes: %j has %i', (character, bytes) => {
    const most = 64 * 1024;
    const fits = character.repeat(Math.floor(most / bytes)) + 'a'.repeat(most % bytes);
    expect(Buffer.byteLength(fits)).toBe(most);
    expect(createMonitorSchema.safeParse({ ...minimal, body: fits }).success).toBe(true);
    expect(createMonitorSchema.safeParse({ ...minimal, body: `${fits}a` }).success).toBe(false);
  });
});

describe('updateMonitorSchema', () => {
  test('accepts any subset of the fields and adds no defaults', () => {
    expect(updateMonitorSchema.parse({})).toEqual({});
    expect(updateMonitorSchema.parse({ interval: 30 })).toEqual({ interval: 30 });
  });

  test.each(['headers', 'body', 'assertions', 'runbookUrl', 'externalId'])(
    'accepts null to clear %s',
    (field) => {
      expect(updateMonitorSchema.parse({ [field]: null })).toEqual({ [field]: null });
    },
  );

  test.each(['name', 'url', 'type', 'interval', 'timeout', 'method', 'failureThreshold', 'regions'])(
    'rejects null for %s',
    (field) => {
      expect(updateMonitorSchema.safeParse({ [field]: null }).success).toBe(false);
    },
  );
});

test('monitorConflicts rejects body assertions with HEAD', () => {
  const assertions = { bodyContains: 'ok', bodyNotContains: 'error', statusCode: 200 };
  expect(monitorConflicts({ method: 'HEAD', assertions }).map((conflict) => conflict.path)).toEqual([
    'assertions.bodyContains',
    'assertions.bodyNotContains',
  ]);
  expect(monitorConflicts({ method: 'GET', assertions })).toEqual([]);
  expect(monitorConflicts({ method: 'HEAD', assertions: { statusCode: 200 } })).toEqual([]);
});
