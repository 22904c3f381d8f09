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
      enabled: true,
      method: 'GET',
      headers: null,
      body: null,
      followRedirects: true,
      ipFamily: null,
      connectTo: null,
      tls: null,
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
    [`https://example.com/${'a'.repeat(2_028)}`, true],
    [`https://example.com/${'a'.repeat(2_029)}`, false],
    ['https:example.com', false],
    ['https://user@example.com', false],
    [' https://example.com', false],
  ])('url %j: %s', (url, valid) => {
    expect(createMonitorSchema.safeParse({ ...minimal, url }).success).toBe(valid);
  });

  test('the names of headers have at most 256 characters, and none is __proto__', () => {
    const headersAre = (headers: unknown): boolean =>
      createMonitorSchema.safeParse({ ...minimal, headers }).success;
    expect(headersAre({ ['x'.repeat(256)]: '\t é' })).toBe(true);
    expect(headersAre({ ['x'.repeat(257)]: 'v' })).toBe(false);
    expect(headersAre(JSON.parse('{"__proto__":"x"}'))).toBe(false);
  });

  test('keeps everything as written', () => {
    const parsed = createMonitorSchema.parse({ ...minimal, name: '  Shop ', body: ' raw ' });
    expect(parsed).toMatchObject({ name: '  Shop ', body: ' raw ' });
  });

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

  test('accepts null to clear a field', () => {
    const cleared = { headers: null, body: null, assertions: null, runbookUrl: null, externalId: null };
    expect(updateMonitorSchema.parse(cleared)).toEqual(cleared);
  });
});

test('monitorConflicts rejects body assertions with HEAD', () => {
  const json = [{ path: '$', exists: true }];
  const assertions = {
    bodyContains: 'ok',
    bodyNotContains: 'error',
    bodyMatches: 'a',
    json,
    statusCode: 200,
  };
  expect(monitorConflicts({ method: 'HEAD', assertions }).map((conflict) => conflict.path)).toEqual([
    'assertions.bodyContains',
    'assertions.bodyNotContains',
    'assertions.bodyMatches',
    'assertions.json',
  ]);
  expect(monitorConflicts({ method: 'GET', assertions })).toEqual([]);
  expect(monitorConflicts({ method: 'HEAD', assertions: { statusCode: 200 } })).toEqual([]);
});
