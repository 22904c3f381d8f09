import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadSets, type FileSet } from '@tocsin-monitor/cli/files/load-sets';
import { expect, test } from '@jest/globals';
import { folderWith, runIn, type Ran } from './fake-terminal.ts';

/** Imports a sample and reads the result as `apply` does. */
async function importSample(
  tool: string,
  sample: string,
  env: Record<string, string>,
  flags: string[] = [],
): Promise<{ ran: Ran; set: FileSet | undefined; text: string }> {
  const folder = await folderWith();
  await copyFile(join('packages/cli/test/samples', sample), join(folder, sample));
  const printed = await runIn(folder, ['import', tool, sample, ...flags]);
  const ran = await runIn(folder, ['import', tool, sample, '-o', 'tocsin.yaml', ...flags]);
  expect([ran.code, ran.out]).toEqual([0, '']);
  const [set] = await loadSets([], undefined, { cwd: folder, env });
  return { ran, set, text: printed.out };
}

test('Uptime Kuma: monitors are converted, the rest is reported, and secrets stay out of the file', async () => {
  const env = {
    TOCSIN_SECRET_SHOP_2_X_API_KEY_EAFE5F5E8A6210F8: 's3cret',
    TOCSIN_SECRET_SHOP_2_AUTHORIZATION_28889D9247AB5997: 'Basic x',
    TOCSIN_SECRET_SHOP_2_BODY_084F0CD239284833: '{"ping": true}',
  };
  const { ran, set, text } = await importSample('uptime-kuma', 'uptime-kuma.json', env);
  expect(set?.source).toBe('uptime-kuma');
  expect(set?.monitors.map(({ fields }) => fields)).toEqual([
    {
      externalId: 'shop',
      name: 'Shop',
      url: 'https://shop.example.com/',
      timeout: 48,
      failureThreshold: 3,
      retryInterval: 30,
      labels: { prod: '' },
    },
    {
      externalId: 'shop-2',
      name: 'Shop',
      url: 'https://shop.example.com/api/orders',
      interval: 20,
      timeout: 13,
      method: 'POST',
      body: '{"ping": true}',
      assertions: { bodyContains: '"ok": ${x}', statusCode: 201 },
      headers: { 'Content-Type': 'application/json', 'X-Api-Key': 's3cret', Authorization: 'Basic x' },
    },
    {
      externalId: 'no-errors',
      name: 'No errors',
      url: 'https://status.example.com/',
      timeout: 60,
      failureThreshold: 2,
      assertions: { bodyNotContains: 'error' },
    },
  ]);
  expect(text).not.toMatch(/s3cret|hunter2|cHJvYmU|ping/);
  for (const remark of [
    'Imported: 3. Skipped: 6.',
    '  Shop: not imported: certificate expiry notification; to get DOWN instead, add',
    '  Shop: timeout changed from 12.5 s to 13 s',
    '  Shop: TLS errors are no longer ignored',
    '  No errors: accepted status codes changed from 200-299, 404 to 200-399',
    '  No errors: not imported: headers, which are not a JSON object',
    '  No errors: not imported: authentication with ntlm',
    '  DB port: skipped: type port is not supported',
    '  Paused: skipped: it is paused',
    '  Delete: skipped: method DELETE is not supported',
    '  Bad URL: skipped: url must not contain a user name',
    'set: TOCSIN_SECRET_SHOP_2_X_API_KEY_EAFE5F5E8A6210F8, TOCSIN_SECRET_SHOP_2_AUTHORIZATION_28889D9247AB5997, TOCSIN_SECRET_SHOP_2_BODY_084F0CD239284833. --secrets',
  ])
    expect(ran.err).toContain(remark);
  const shown = await importSample('uptime-kuma', 'uptime-kuma.json', {}, ['--secrets']);
  expect(shown.set?.monitors[1]?.fields['headers']).toMatchObject({
    Authorization: `Basic ${Buffer.from('probe:hunter2').toString('base64')}`,
  });
});

test.each<[string, object, number | undefined, string | null]>([
  ['shorter than the interval', { maxretries: 1, retryInterval: 20 }, 20, null],
  ['as long as the interval', { maxretries: 1, retryInterval: 60 }, undefined, null],
  [
    'longer than the interval',
    { maxretries: 1, retryInterval: 90 },
    undefined,
    'retry interval changed from 90 s to 60 s',
  ],
  ['without retries', { maxretries: 0, retryInterval: 20 }, undefined, null],
  [
    'too long',
    { maxretries: 1, interval: 7_200, retryInterval: 5_400 },
    3_600,
    'retryInterval changed from 5400 s to 3600 s',
  ],
])('Uptime Kuma: a retry interval that is %s', async (_, settings, expected, remark) => {
  const monitor = { name: 'Shop', type: 'http', url: 'https://shop.example', interval: 60, ...settings };
  const folder = await folderWith({ 'kuma.json': JSON.stringify({ monitorList: [monitor] }) });
  const ran = await runIn(folder, ['import', 'uptime-kuma', 'kuma.json', '-o', 'tocsin.yaml']);
  const [set] = await loadSets([], undefined, { cwd: folder, env: {} });
  expect(set?.monitors[0]?.fields['retryInterval']).toBe(expected);
  if (remark === null) expect(ran.err).not.toContain('Shop: ');
  else expect(ran.err).toContain(`  Shop: ${remark}`);
});

test('Gatus: the thresholds are those of the alert that fires first', async () => {
  const alerts = [
    { type: 'email', 'failure-threshold': 4, 'success-threshold': 9 },
    { type: 'slack', 'failure-threshold': 0 },
  ];
  const endpoints = [
    { name: 'shop', url: 'https://shop.example', alerts },
    { name: 'none', url: 'https://none.example' },
  ];
  const alerting = { slack: { 'default-alert': { 'failure-threshold': 2, 'success-threshold': 5 } } };
  const folder = await folderWith({ 'gatus.yaml': JSON.stringify({ alerting, endpoints }) });
  await runIn(folder, ['import', 'gatus', 'gatus.yaml', '-o', 'tocsin.yaml']);
  const [set] = await loadSets([], undefined, { cwd: folder, env: {} });
  expect(
    set?.monitors.map(({ fields }) => [fields['failureThreshold'], fields['recoveryThreshold']]),
  ).toEqual([
    [2, 5],
    [undefined, undefined],
  ]);
});

test('Gatus: endpoints are converted, and the rest is reported', async () => {
  const env = { API_TOKEN: 't', TOCSIN_SECRET_CORE_BACK_END_BODY_B049605F07C239B6: '{"check": "all"}' };
  const { ran, set } = await importSample('gatus', 'gatus.yaml', env, ['--source', 'old']);
  expect(set?.source).toBe('old');
  expect(set?.monitors.map(({ fields }) => fields)).toEqual([
    {
      externalId: 'core-front-end',
      name: 'core / front-end',
      url: 'https://shop.example.com/',
      interval: 300,
      failureThreshold: 4,
      recoveryThreshold: 3,
      assertions: {
        statusCode: 200,
        bodyContains: '<title>Shop</title>',
        maxLatency: 149,
        certificateMinDays: 2,
      },
      labels: { group: 'core' },
    },
    {
      externalId: 'core-back-end',
      name: 'core / back-end',
      url: 'https://api.example.com/health',
      interval: 90,
      timeout: 60,
      method: 'POST',
      body: '{"check": "all"}',
      failureThreshold: 3,
      recoveryThreshold: 2,
      assertions: { bodyNotContains: 'error' },
      labels: { group: 'core' },
      headers: { Authorization: 'Bearer t' },
    },
  ]);
  for (const remark of [
    'Imported: 2. Skipped: 3.',
    '  core / back-end: timeout changed from 90 s to 60 s',
    '  core / back-end: not imported: condition [STATUS] < 300',
    '  core / back-end: not imported: condition [BODY].status == UP',
    '  core / back-end: TLS errors are no longer ignored',
    '  ping: skipped: icmp is not supported',
    '  off: skipped: it is disabled',
  ])
    expect(ran.err).toContain(remark);
});

test('Gatus: variables stay variables, and unsupported settings are reported', async () => {
  const folder = await folderWith({
    'gatus.yaml': `
endpoints:
  - name: token
    url: https://x.example/$PATH_OF/$$5
    method: POST
    headers: { Authorization: 'Bearer $TOKEN', X-Number: 5 }
    body: 'cost $$5 $\${HOME} \${NAME}'
    conditions: ['[BODY] == pat(*ok*)']
    client: { oauth2: { token-url: x }, tls: { certificate-file: x } }
    alerts:
      - { type: slack, enabled: false, failure-threshold: 1 }
      - { type: slack, failure-threshold: 4 }
external-endpoints:
  - { name: pushed, token: x }
suites:
  - { name: flow, endpoints: [] }
`,
  });
  const ran = await runIn(folder, ['import', 'gatus', 'gatus.yaml', '--secrets', '-o', 'tocsin.yaml']);
  const env = { PATH_OF: 'p', TOKEN: 't', NAME: 'n' };
  const [set] = await loadSets([], undefined, { cwd: folder, env });
  expect(set?.monitors[0]?.fields).toMatchObject({
    url: 'https://x.example/p/$5',
    headers: { Authorization: 'Bearer t', 'X-Number': '5' },
    body: 'cost $5 ${HOME} n',
    failureThreshold: 4,
  });
  for (const remark of [
    'Imported: 1. Skipped: 2.',
    '  token: not imported: OAuth 2 authentication',
    '  token: not imported: client certificate',
    '  token: no condition for the status',
    '  pushed: skipped: ',
    '  flow: skipped: ',
  ])
    expect(ran.err).toContain(remark);
});

test('Gatus: a URL may contain variables anywhere, as in tocsin.yaml', async () => {
  const urls = {
    whole: '${SHOP_URL}',
    start: '$SHOP_URL/health',
    scheme: '${SCHEME}://shop.example/',
    host: 'https://$HOST/health',
    port: 'https://${HOST}:$PORT/x?${QUERY}=$$1#a',
    after: '${SHOP_URL}:${PORT}/x',
    login: 'https://me:${PASSWORD}@shop.example/',
    space: '${SHOP_URL} /x',
    other: 'tcp://$HOST:$PORT',
  };
  const endpoints = Object.entries(urls).map(([name, url]) => ({
    name,
    url,
    conditions: ['[STATUS] == 200'],
  }));
  const folder = await folderWith({ 'gatus.yaml': JSON.stringify({ endpoints }) });
  const ran = await runIn(folder, ['import', 'gatus', 'gatus.yaml', '-o', 'tocsin.yaml']);
  expect(ran.err.split('\n').slice(1, -1)).toEqual([
    'Imported: 6. Skipped: 3.',
    expect.stringContaining('  login: skipped: url must not contain a user name'),
    expect.stringContaining('  space: skipped: url '),
    '  other: skipped: tcp is not supported, only HTTP',
  ]);
  const env = { SHOP_URL: 'https://s.example', SCHEME: 'http', HOST: 'h.example', PORT: '81', QUERY: 'q' };
  const [set] = await loadSets([], undefined, { cwd: folder, env });
  expect(set?.monitors.map(({ fields }) => fields['url'])).toEqual([
    'https://s.example',
    'https://s.example/health',
    'http://shop.example/',
    'https://h.example/health',
    'https://h.example:81/x?q=$1#a',
    'https://s.example:81/x',
  ]);
  const text = await readFile(join(folder, 'tocsin.yaml'), 'utf8');
  expect(text).toContain('url: ${SHOP_URL}/health\n');
});

test('Uptime Kuma: text that looks like a variable is not one', async () => {
  const monitorList = [{ name: 'odd', type: 'http', url: '${SHOP_URL}/health' }];
  const folder = await folderWith({ 'kuma.json': JSON.stringify({ monitorList }) });
  const ran = await runIn(folder, ['import', 'uptime-kuma', 'kuma.json']);
  expect(ran.err).toContain('  odd: skipped: url ');
});

test('Uptime Kuma: the content type of a body is converted, and unsupported settings are reported', async () => {
  const monitor = (name: string, more: object): object => ({
    name,
    type: 'http',
    url: 'https://x.example',
    method: 'POST',
    body: '<a/>',
    ...more,
  });
  const monitorList = [
    monitor('plain', { tags: [{ name: 'prod' }], parent: 7, description: 'Ours' }),
    monitor('xml', { httpBodyEncoding: 'xml' }),
    monitor('own', { httpBodyEncoding: 'form', headers: '{"content-type":"a/b"}' }),
    monitor('odd', { headers: '{"x":{"y":1}}', body: null }),
  ];
  const folder = await folderWith({ 'kuma.json': JSON.stringify({ monitorList }) });
  const ran = await runIn(folder, ['import', 'uptime-kuma', 'kuma.json', '--secrets', '-o', 'tocsin.yaml']);
  const [set] = await loadSets([], undefined, { cwd: folder, env: {} });
  expect(set?.monitors.map(({ fields }) => fields['headers'])).toEqual([
    { 'Content-Type': 'application/json' },
    { 'Content-Type': 'text/xml; charset=utf-8' },
    { 'content-type': 'a/b' },
    undefined,
  ]);
  for (const remark of [
    '  plain: not imported: group',
    '  plain: not imported: description',
    '  odd: not imported: headers, which are not a JSON object',
  ])
    expect(ran.err).toContain(remark);
});

test('Uptime Kuma: tags become labels, and every change of a text is reported', async () => {
  const tags = [
    { name: 'prod', value: '' },
    { name: 'Team Größe', value: 'Shop & Käse' },
    { name: 'prod', value: 'again' },
    { name: '監視', value: null },
    { name: 'example.com/tier', value: 'web' },
  ];
  const monitorList = [{ name: 'shop', type: 'http', url: 'https://x.example', tags }];
  const folder = await folderWith({ 'kuma.json': JSON.stringify({ monitorList }) });
  const ran = await runIn(folder, ['import', 'uptime-kuma', 'kuma.json', '-o', 'tocsin.yaml']);
  const [set] = await loadSets([], undefined, { cwd: folder, env: {} });
  expect(set?.monitors[0]?.fields.labels).toEqual({
    prod: '',
    'Team-Gro-e': 'Shop-Kase',
    'example.com/tier': 'web',
  });
  expect(ran.err.split('\n').filter((line) => line.includes('label'))).toEqual([
    '  shop: label Team Größe=Shop & Käse changed to Team-Gro-e=Shop-Kase',
    '  shop: not imported: label prod=again, because there is another prod',
    '  shop: not imported: label 監視, which has no letters or digits',
  ]);
});

test('Gatus: the group and extra labels become labels; the maintenance of all endpoints is reported', async () => {
  const config = (every: string): string => `
maintenance: { start: '23:00', duration: 1h, timezone: Europe/Amsterdam${every} }
endpoints:
  - name: a
    group: Core Services
    url: https://x.example
    conditions: ['[STATUS] == 200']
    extra-labels: { env: $ENV, tier: 1, group: other }
`;
  const folder = await folderWith({
    'daily.yaml': config(''),
    'weekly.yaml': config(', every: [Monday, Thursday]'),
  });
  const ran = await runIn(folder, ['import', 'gatus', 'weekly.yaml', '-o', 'tocsin.yaml']);
  const [set] = await loadSets([], undefined, { cwd: folder, env: { ENV: 'prod' } });
  expect(set?.monitors[0]?.fields.labels).toEqual({ group: 'Core-Services', env: 'prod', tier: '1' });
  for (const remark of [
    '  not imported: maintenance from 23:00 for 1h (Europe/Amsterdam). Create a maintenance window for all monitors that repeats with FREQ=WEEKLY;BYDAY=MO,TH',
    '  Core Services / a: label group=Core Services changed to group=Core-Services',
    '  Core Services / a: not imported: label group=other, because there is another group',
  ])
    expect(ran.err.split('\n')).toContain(remark);
  expect((await runIn(folder, ['import', 'gatus', 'daily.yaml'])).err).toContain('repeats with FREQ=DAILY');
});

test('an invalid file, or one that would be overwritten, is reported in one line', async () => {
  const folder = await folderWith({ 'x.json': '{}', 'bad.json': '{', 'taken.yaml': 'mine' });
  for (const [args, message] of [
    [['uptime-kuma', 'x.json'], 'tocsin: The file is not a backup of Uptime Kuma: it has no `monitorList`.'],
    [['uptime-kuma', 'bad.json'], 'tocsin: bad.json is not valid JSON.'],
    [['gatus', 'x.json'], 'tocsin: The file is not a Gatus configuration: it has no `endpoints`.'],
    [['gatus', 'missing.yaml'], 'tocsin: Could not read missing.yaml.'],
  ] as const)
    expect(await runIn(folder, ['import', ...args])).toMatchObject({ code: 1, out: '', err: message });
  await copyFile('packages/cli/test/samples/gatus.yaml', join(folder, 'gatus.yaml'));
  const taken = await runIn(folder, ['import', 'gatus', 'gatus.yaml', '-o', 'taken.yaml']);
  expect([taken.code, taken.err]).toEqual([1, 'tocsin: taken.yaml already exists. Choose another file.']);
});
