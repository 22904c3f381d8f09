import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { monitorWith, NASTY } from '../../testing/records.ts';
import { monitorCurl, shellQuote } from './monitor-curl.ts';

const ORIGIN = 'https://tocsin.example.com';
/** A shell function that replaces curl. It prints its arguments, each followed by a NUL. */
const FAKE_CURL = String.raw`curl() { printf '%s\0' "$@"; }`;

/** The arguments that curl gets. */
function argumentsOf(command: string, variables: Record<string, string> = {}): string[] {
  const output = execFileSync('/bin/sh', ['-c', `${FAKE_CURL}\n${command}`], {
    encoding: 'utf8',
    env: { TOCSIN_API_KEY: 'the-key', ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return output.split('\0').slice(0, -1);
}

const bodyOf = (args: string[]): unknown => JSON.parse(args.at(-1) ?? '');

test('the command is readable', () => {
  const monitor = monitorWith({ runbookUrl: 'https://wiki.example.com/checkout', regions: ['eu-1'] });
  expect(monitorCurl(monitor, ORIGIN)).toBe(
    String.raw`
curl -X PUT https://tocsin.example.com/api/cli/monitors/01890a5d-ac96-774b-bcce-b302099a8057 \
  -H "Authorization: Bearer $TOCSIN_API_KEY" \
  -H 'Content-Type: application/json' \
  --data-raw '{
  "name": "Checkout",
  "url": "https://shop.example.com/health",
  "type": "HTTP",
  "interval": 60,
  "timeout": 10,
  "method": "GET",
  "failureThreshold": 1,
  "recoveryThreshold": 1,
  "regions": [
    "eu-1"
  ],
  "runbookUrl": "https://wiki.example.com/checkout"
}'
`.trim(),
  );
});

test('the shell passes the request with the API key of the environment', () => {
  expect(argumentsOf(monitorCurl(monitorWith(), ORIGIN)).slice(0, -1)).toEqual([
    '-X',
    'PUT',
    `${ORIGIN}/api/cli/monitors/01890a5d-ac96-774b-bcce-b302099a8057`,
    '-H',
    'Authorization: Bearer the-key',
    '-H',
    'Content-Type: application/json',
    '--data-raw',
  ]);
});

test('header values come from the environment', () => {
  const monitor = monitorWith({ headers: { Authorization: 'Bearer s3cret', "X-'odd'-Key": 'hidden' } });
  const command = monitorCurl(monitor, ORIGIN);
  expect(command).not.toMatch(/s3cret|hidden/);
  const args = argumentsOf(command, {
    TOCSIN_SECRET_CHECKOUT_AUTHORIZATION_099A8057: 'Bearer $x `y`',
    TOCSIN_SECRET_CHECKOUT_X_ODD_KEY_099A8057: 'k',
  });
  expect(bodyOf(args)).toMatchObject({
    headers: { Authorization: 'Bearer $x `y`', "X-'odd'-Key": 'k' },
  });
});

test('nothing is sent if a header value is unset', () => {
  const monitor = monitorWith({ headers: { Authorization: 'Bearer s3cret' } });
  expect(() => argumentsOf(monitorCurl(monitor, ORIGIN))).toThrow(
    /TOCSIN_SECRET_CHECKOUT_AUTHORIZATION_099A8057/,
  );
});

test('every text arrives unchanged', () => {
  const inputs = NASTY.map((text) => ({
    name: text,
    body: text,
    assertions: { bodyContains: text, statusCode: 200 },
    externalId: text,
  }));
  const commands = inputs.map((fields) => monitorCurl(monitorWith(fields), ORIGIN));
  const args = argumentsOf(commands.join('\n'));
  const bodies = args.filter((_, index) => args[index - 1] === '--data-raw');
  expect(bodies.map((body): unknown => JSON.parse(body))).toEqual(
    inputs.map((fields): unknown => expect.objectContaining(fields)),
  );
});

test('a quoted text is one word', () => {
  expect(argumentsOf(`curl ${NASTY.map(shellQuote).join(' ')}`)).toEqual([...NASTY]);
});
