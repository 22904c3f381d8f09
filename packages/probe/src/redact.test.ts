import type http from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { check, loopbackEgress, useLocalTargets } from './testing/local-targets.ts';
import { redactSent } from './redact.ts';

const SECRET = 'Str0ng+Secret/of-ours';
const sent = (
  headers: Record<string, string>,
  body: string | null = null,
): Parameters<typeof redactSent>[1] => ({
  url: 'https://shop.example/health',
  headers,
  body,
});

describe('redactSent', () => {
  test.each([
    ['in lower case', SECRET.toLowerCase()],
    ['percent-encoded', encodeURIComponent(SECRET)],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64url', Buffer.from(SECRET).toString('base64url')],
    ['in hexadecimal', Buffer.from(SECRET).toString('hex')],
  ])('redacts the credentials of a header %s', (_name, form) => {
    const text = `the redirect to "app://x/${form}/y" leaves http and https`;
    const redacted = 'the redirect to "app://x/[hidden]/y" leaves http and https';
    expect(redactSent(text, sent({ Authorization: `Bearer ${SECRET}` }))).toBe(redacted);
    expect(redactSent(text, sent({ Cookie: `theme=dark; session=${SECRET}` }))).toBe(redacted);
    expect(redactSent(text, sent({}, `{"password":"${SECRET}"}`))).toBe(redacted);
  });

  test('redacts the credentials from a Basic header, even in text whose length changes with its case', () => {
    const credentials = `Basic ${Buffer.from(`somebody:${SECRET}`).toString('base64')}`;
    expect(redactSent(`İ ${SECRET}`, sent({ Authorization: credentials }))).toBe('İ [hidden]');
  });

  test('leaves public text as it is', () => {
    const text = 'getaddrinfo ENOTFOUND shop.example: application/json';
    const headers = { Host: 'shop.example', 'Content-Type': 'application/json', 'X-Target': 'shop.example' };
    expect(redactSent(text, sent(headers, '{"host":"shop.example"}'))).toBe(text);
    expect(redactSent('a 1 b', sent({ 'X-Number': '1' }))).toBe('a 1 b');
  });

  test('finds each of thousands of parts', () => {
    const parts = Array.from({ length: 7_000 }, (_, number) => `${number}`.padStart(8, '0'));
    const text = `x ${parts[0]} y ${parts[6_999]} z`;
    expect(redactSent(text, sent({}, parts.join(' ')))).toBe('x [hidden] y [hidden] z');
  });
});

describe('a target that echoes the request', () => {
  const targets = useLocalTargets();
  const echoes: [string, (key: string) => http.OutgoingHttpHeaders][] = [
    ['in a redirect to an app', (key) => ({ location: `app://callback/${key}?key=${key}#${key}` })],
    ['where the detail is cut', (key) => ({ location: `app:${'x'.repeat(460)}${key}` })],
    ['in one that is too long to show', (key) => ({ location: `app:${key}${'x'.repeat(60_000)}` })],
    ['in a redirect to a name', (key) => ({ location: `http://${key}.invalid/` })],
  ];

  test.each(echoes)('%s', async (_name, headers) => {
    const key = 'c0ffee-secret-c0ffee';
    const target = await targets.http((request, response) => {
      response.writeHead(302, headers(String(request.headers['x-key']))).end();
    });
    const result = await check(target.origin, loopbackEgress(), { headers: { 'X-Key': key } });
    expect(result.status).toBe('DOWN');
    expect(result.errorDetail).not.toContain('c0ffee');
  });

  test('in a content coding', async () => {
    const target = await targets.http((request, response) => {
      response.writeHead(200, { 'content-encoding': `br, ${String(request.headers['x-key'])}` }).end('x');
    });
    const result = await check(target.origin, loopbackEgress(), {
      headers: { 'X-Key': 'C0ffee-Secret' },
      assertions: { bodyContains: 'x' },
    });
    expect(result.errorDetail).toBe('body has content coding “br, [hidden]”, which checks cannot read');
  });
});
