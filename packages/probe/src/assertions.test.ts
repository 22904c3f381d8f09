import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import type { Assertions } from '@tocsin/contracts/monitors/assertions';
import { createCertificate } from '@tocsin/embedded/certificates';
import { check, loopbackEgress, useLocalTargets } from './testing/local-targets.ts';

const targets = useLocalTargets();
const egress = loopbackEgress();

const BODY = JSON.stringify({
  status: 'degraded',
  items: [{ id: 1 }, { id: 2 }],
  echo: 'Bearer s3cr3t-t0ken',
});

test.each<[string, Assertions, string | null]>([
  ['a status in a range', { statusCodes: ['200-299'] }, null],
  ['no status in the list', { statusCodes: [204, '300-399'] }, 'expected a status of 204, 300-399, got 200'],
  ['a header', { headers: [{ name: 'content-type', matches: '^application/json\\b' }] }, null],
  [
    'a missing header',
    { headers: [{ name: 'X-Cache', exists: true }] },
    'header X-Cache: expected a value, got no such header',
  ],
  ['a cookie', { headers: [{ name: 'Set-Cookie', contains: 'b=2' }] }, null],
  [
    'a wrong cookie, which is a credential of the target',
    { headers: [{ name: 'Set-Cookie', contains: 'c=3' }] },
    'header Set-Cookie: expected text that contains "c=3", got "[hidden]", "[hidden]"',
  ],
  ['a value', { json: [{ path: '$.items[*].id', greaterThan: 1 }] }, null],
  [
    'a wrong value',
    { json: [{ path: '$.status', equals: 'ok' }] },
    'JSON path $.status: expected "ok", got "degraded"',
  ],
  [
    'a value that the check has sent',
    { json: [{ path: '$.echo', equals: 'x' }] },
    'JSON path $.echo: expected "x", got "[hidden]"',
  ],
  ['an expression', { bodyMatches: '"id":\\s*\\d+' }, null],
  [
    'several failures',
    { bodyMatches: 'healthy', json: [{ path: '$.items', exists: false }] },
    'body does not match /healthy/; JSON path $.items: expected nothing, got an array of 2 elements',
  ],
])('%s', async (_name, assertions, errorDetail) => {
  const target = await targets.http((_request, response) => {
    response.setHeader('Set-Cookie', ['a=1', 'b=2']);
    response.writeHead(200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Encoding': 'gzip',
    });
    response.end(gzipSync(BODY));
  });
  const headers = { Authorization: 'Bearer s3cr3t-t0ken' };
  const result = await check(target.origin, egress, { assertions, headers });
  expect(result).toMatchObject({ status: errorDetail === null ? 'UP' : 'DOWN', errorDetail });
});

test('a body that is no JSON fails', async () => {
  const target = await targets.http((_request, response) => response.end('<html>'));
  const assertions = { json: [{ path: '$', exists: true }] };
  expect((await check(target.origin, egress, { assertions })).errorDetail).toBe('body is not JSON');
});

test('a list of redirects is not followed', async () => {
  const target = await targets.http((_request, response) =>
    response.writeHead(301, { Location: '/elsewhere' }).end(),
  );
  const result = await check(target.origin, egress, { assertions: { statusCodes: [301, 308] } });
  expect(result).toMatchObject({ status: 'UP', statusCode: 301 });
});

test('only a trial check describes each assertion', async () => {
  const target = await targets.http((_request, response) => response.end(BODY));
  const assertions = { json: [{ path: '$.status', equals: 'ok' }], bodyContains: 'items' };
  expect(await check(target.origin, egress, { assertions })).not.toHaveProperty('assertions');
  expect((await check(target.origin, egress, { assertions, isTrial: true })).assertions).toEqual([
    { assertion: 'statusCode', passed: true, detail: 'status 200' },
    { assertion: 'bodyContains', passed: true, detail: 'body contains “items”' },
    { assertion: 'json.0', passed: false, detail: 'JSON path $.status: expected "ok", got "degraded"' },
  ]);
});

test('the first certificate to expire counts, of any redirect and any part of the chain', async () => {
  const short = await createCertificate(['127.0.0.1'], { validDays: 90, intermediateDays: 10.5 });
  const long = await createCertificate(['127.0.0.1'], { validDays: 60 });
  const last = await targets.https(long, (_request, response) => response.end('ok'));
  const first = await targets.https(short, (_request, response) =>
    response.writeHead(302, { Location: last.origin }).end(),
  );
  const trusting = loopbackEgress(`${short.ca}\n${long.ca}`);
  const daysLeft = (date: Date | null): number => ((date?.getTime() ?? 0) - Date.now()) / 86_400_000;
  expect(daysLeft((await check(last.origin, trusting)).certificateExpiresAt)).toBeCloseTo(60, 1);
  const result = await check(first.origin, trusting, { assertions: { certificateMinDays: 14 } });
  expect(daysLeft(result.certificateExpiresAt)).toBeCloseTo(10.5, 1);
  expect(result.errorDetail).toBe('certificate expires in 10 days, below the minimum of 14 days');
});
