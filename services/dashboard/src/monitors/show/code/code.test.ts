import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { loadSets } from '@tocsin-monitor/cli/files/load-sets';
import { createMonitorSchema, type Monitor, type MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { parse } from 'yaml';
import { monitorWith, NASTY } from '../../testing/records.ts';
import { monitorCurl, shellQuote } from './monitor-curl.ts';
import { headerVariables } from './monitor-fields.ts';
import { monitorYaml } from './monitor-yaml.ts';

const ID = '01890a5d-ac96-774b-bcce-b302099a8057';

function variablesOf(name: string, names: string[], id = ID): string[] {
  const headers = Object.fromEntries(names.map((header) => [header, 'x']));
  return [...headerVariables({ id, name, headers }).values()];
}

test('variables differ for monitors with equal names, and for headers with similar names', () => {
  expect(variablesOf('a', ['X-Key'])).not.toEqual(variablesOf('a', ['X-Key'], `${ID.slice(0, -1)}8`));
  expect(variablesOf('a', ['x-key', 'x.key', 'x_key'])).toEqual([
    'TOCSIN_SECRET_A_X_KEY_099A8057',
    'TOCSIN_SECRET_A_X_KEY_099A8057_2',
    'TOCSIN_SECRET_A_X_KEY_099A8057_3',
  ]);
});

test('variables are valid in a shell', () => {
  for (const name of ['🔔', '監視', '3 in the morning', '', "it's; rm -rf", 'x'.repeat(255)])
    for (const variable of variablesOf(name, ['!#$', 'Authorization']))
      expect(variable).toMatch(/^TOCSIN_SECRET_[A-Z0-9_]+$/);
});

const ORIGIN = 'https://tocsin.example.com';
/** A shell function that replaces curl. It prints its arguments, each followed by a NUL. */
const FAKE_CURL = String.raw`curl() { printf '%s\0' "$@"; }`;

/** Returns the arguments that curl gets. */
function argumentsOf(command: string, variables: Record<string, string> = {}): string[] {
  const output = execFileSync('/bin/sh', ['-c', `${FAKE_CURL}\n${command}`], {
    encoding: 'utf8',
    env: { TOCSIN_API_KEY: 'the-key', ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return output.split('\0').slice(0, -1);
}

test('the API key and header values come from the environment, and nothing is sent if one is unset', () => {
  const monitor = monitorWith({ headers: { Authorization: 'Bearer s3cret', "X-'odd'-Key": 'hidden' } });
  const command = monitorCurl(monitor, ORIGIN);
  expect(command).not.toMatch(/s3cret|hidden/);
  const args = argumentsOf(command, {
    TOCSIN_SECRET_CHECKOUT_AUTHORIZATION_099A8057: 'Bearer $x `y`',
    TOCSIN_SECRET_CHECKOUT_X_ODD_KEY_099A8057: 'k',
  });
  expect(args).toContain('Authorization: Bearer the-key');
  const headers = { Authorization: 'Bearer $x `y`', "X-'odd'-Key": 'k' };
  expect(JSON.parse(args.at(-1) ?? '')).toMatchObject({ headers });
  expect(() => argumentsOf(command)).toThrow(/TOCSIN_SECRET_CHECKOUT_AUTHORIZATION/);
});

test('every text arrives unchanged', () => {
  const inputs = NASTY.map((text) => ({ name: text, body: text, assertions: { bodyContains: text } }));
  const commands = inputs.map((fields) => monitorCurl(monitorWith(fields), ORIGIN));
  const args = argumentsOf(commands.join('\n'));
  const bodies = args.filter((_, index) => args[index - 1] === '--data-raw');
  expect(bodies.map((body): unknown => JSON.parse(body))).toMatchObject(inputs);
});

test('a quoted text is one word', () => {
  expect(argumentsOf(`curl ${NASTY.map(shellQuote).join(' ')}`)).toEqual([...NASTY]);
});

test.each([
  [{}, 'checkout', 'Checkout', 'https://shop.example.com/health'],
  [{ name: '-', url: 'https://example.com' }, 'monitor', '-', 'https://example.com'],
])('omits defaults, but has required fields: %j', (input, externalId, name, url) => {
  expect(parse(monitorYaml(monitorWith(input)))).toEqual({ monitors: [{ externalId, name, url }] });
});

test('has every field that is set, without header values', () => {
  const monitor = monitorWith({
    name: 'Checkout: EU',
    url: 'https://shop.example.com/health#top',
    headers: { Authorization: 'Bearer s3cret', no: 'hidden' },
    body: '{"ping": true}\n{"pong": "it\'s"}\n',
    regions: ['eu-1', 'us-1'],
    externalId: '42',
    source: 'shop',
  });
  expect(monitorYaml(monitor)).toBe(
    `
source: shop
monitors:
  - externalId: '42'
    name: 'Checkout: EU'
    url: https://shop.example.com/health#top
    headers:
      Authorization: \${TOCSIN_SECRET_CHECKOUT_EU_AUTHORIZATION_099A8057}
      no: \${TOCSIN_SECRET_CHECKOUT_EU_NO_099A8057}
    body: |
      {"ping": true}
      {"pong": "it's"}
    regions:
      - eu-1
      - us-1
`.trimStart(),
  );
});

/** Returns the monitors that `tocsin apply` reads, with a value for each variable. */
async function readBack(monitor: Monitor): Promise<{ source: string; fields: unknown }[]> {
  await writeFile(join(folder, 'tocsin.yaml'), monitorYaml(monitor));
  const env = Object.fromEntries(
    [...headerVariables(monitor)].map(([header, variable]) => [variable, monitor.headers?.[header]]),
  );
  const input = { cwd: folder, env, hide: () => undefined };
  const sets = await loadSets(['tocsin.yaml'], 'of the command', input);
  return sets.flatMap(({ source, monitors }) =>
    monitors.map(({ fields }) => ({ source, fields: createMonitorSchema.parse({ ...fields, source }) })),
  );
}

const folder = await mkdtemp(join(tmpdir(), 'tocsin-yaml-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(NASTY.map((text) => text.trim()).filter((text) => text !== '' && !/[^\P{Cc}\t\n\r]/u.test(text)))(
  '`tocsin apply` reads back the same monitor: %j',
  async (text) => {
    const line = text.replaceAll(/\s+/g, ' ');
    const input: MonitorInput = createMonitorSchema.parse({
      name: line,
      url: 'https://shop.example.com/${x}?a=$${b}',
      method: 'POST',
      headers: { 'X-Probe': 'a ${b}', Authorization: 'Bearer $${s3cret}' },
      body: text,
      assertions: { statusCode: 204, bodyContains: text },
      externalId: line,
      source: 'shop ${x}',
    });
    expect(await readBack(monitorWith(input))).toEqual([{ source: input.source, fields: input }]);
  },
);

test('`tocsin apply` takes the source of a monitor without one from its command line', async () => {
  const fields = { externalId: 'checkout' };
  expect(await readBack(monitorWith())).toMatchObject([{ source: 'of the command', fields }]);
});
