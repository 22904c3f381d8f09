import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { loadSets } from '@tocsin-monitor/cli/files/load-sets';
import { createMonitorSchema, type Monitor, type MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { parse } from 'yaml';
import { monitorWith, NASTY } from '../../testing/records.ts';
import { headerVariables } from './monitor-fields.ts';
import { monitorYaml, ownershipNote } from './monitor-yaml.ts';

test('omits defaults', () => {
  expect(monitorYaml(monitorWith())).toBe(
    [
      'monitors:',
      '  - externalId: checkout',
      '    name: Checkout',
      '    url: https://shop.example.com/health',
      '',
    ].join('\n'),
  );
});

test('has the required fields, whatever their values', () => {
  const yaml = monitorYaml(monitorWith({ name: '-', url: 'https://example.com' }));
  expect(parse(yaml)).toEqual({
    monitors: [{ externalId: 'monitor', name: '-', url: 'https://example.com' }],
  });
});

test('has every field that is set, without header values', () => {
  const monitor = monitorWith({
    name: 'Checkout: EU',
    url: 'https://shop.example.com/health#top',
    interval: 30,
    timeout: 5,
    method: 'POST',
    headers: { Authorization: 'Bearer s3cret', no: 'hidden' },
    body: '{"ping": true}\n{"pong": "it\'s"}\n',
    assertions: { statusCode: 204, bodyContains: 'ok' },
    failureThreshold: 3,
    retryInterval: 10,
    recoveryThreshold: 2,
    regions: ['eu-1', 'us-1'],
    runbookUrl: 'https://wiki.example.com/checkout',
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
    interval: 30
    timeout: 5
    method: POST
    headers:
      Authorization: \${TOCSIN_SECRET_CHECKOUT_EU_AUTHORIZATION_099A8057}
      no: \${TOCSIN_SECRET_CHECKOUT_EU_NO_099A8057}
    body: |
      {"ping": true}
      {"pong": "it's"}
    assertions:
      statusCode: 204
      bodyContains: ok
    failureThreshold: 3
    retryInterval: 10
    recoveryThreshold: 2
    regions:
      - eu-1
      - us-1
    runbookUrl: https://wiki.example.com/checkout
`.trimStart(),
  );
});

test.each([
  ['Ünïcode API (EU)', 'unicode-api-eu'],
  ['監視', 'monitor'],
  ['42', "'42'"],
])('the external ID of a monitor without one is derived from its name: %s', (name, key) => {
  expect(monitorYaml(monitorWith({ name }))).toContain(`\n  - externalId: ${key}\n`);
});

test.each(NASTY)('quotes %j', (text) => {
  const written = text.replaceAll('${', () => '$${');
  expect(parse(monitorYaml(monitorWith({ name: text, body: text, externalId: text, source: text })))).toEqual(
    {
      source: written,
      monitors: [
        { externalId: written, name: written, url: 'https://shop.example.com/health', body: written },
      ],
    },
  );
});

/** The monitors that `tocsin apply` reads, with a value in each variable. */
async function readBack(monitor: Monitor): Promise<{ source: string; fields: unknown }[]> {
  await writeFile(join(folder, 'tocsin.yaml'), monitorYaml(monitor));
  const env = Object.fromEntries(
    [...headerVariables(monitor)].map(([header, variable]) => [variable, monitor.headers?.[header]]),
  );
  const sets = await loadSets(['tocsin.yaml'], 'of the command', { cwd: folder, env });
  return sets.flatMap(({ source, monitors }) =>
    monitors.map(({ fields }) => ({ source, fields: createMonitorSchema.parse({ ...fields, source }) })),
  );
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tocsin-yaml-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(NASTY.map((text) => text.trim()).filter((text) => text !== '' && !/[^\P{Cc}\t\n\r]/u.test(text)))(
  '`tocsin apply` reads back the same monitor: %j',
  async (text) => {
    const input: MonitorInput = createMonitorSchema.parse({
      name: text.replaceAll(/\s+/g, ' '),
      url: 'https://shop.example.com/${x}?a=$${b}',
      method: 'POST',
      headers: { 'X-Probe': 'a ${b}', Authorization: 'Bearer $${s3cret}' },
      body: text,
      assertions: { statusCode: 204, bodyContains: text },
      regions: ['eu-1', 'us-1'],
      externalId: text.replaceAll(/\s+/g, ' '),
      source: 'shop ${x}',
    });
    expect(await readBack(monitorWith(input))).toEqual([{ source: input.source, fields: input }]);
  },
);

test('`tocsin apply` takes the source of a monitor without one from its command line', async () => {
  expect(await readBack(monitorWith())).toMatchObject([
    { source: 'of the command', fields: { externalId: 'checkout' } },
  ]);
});

test.each([
  [null, null, /creates a second monitor/],
  [null, 'shop', /creates a second monitor/],
  ['checkout', null, /rejects this file/],
  ['checkout', 'shop', /^$/],
])('external ID %s, source %s', (externalId, source, note) => {
  expect(ownershipNote({ externalId, source }) ?? '').toMatch(note);
});
