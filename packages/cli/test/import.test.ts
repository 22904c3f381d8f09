import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { type FileSet, loadSets } from '@tocsin-monitor/cli/files/load-sets';
import { EXPORT_ADVICE } from '@tocsin-monitor/cli/import/uptime-kuma';
import { fakeTerminal, folderWith, runIn } from './fake-terminal.ts';

type Fields = FileSet['monitors'][number]['fields'];

interface Import {
  readonly source: string | undefined;
  readonly monitors: readonly Fields[];
  readonly text: string;
  /** The lines of stderr. */
  readonly remarks: readonly string[];
}

/** Imports a configuration, and reads the result as `apply` does, with these environment variables. */
async function importFrom(
  tool: 'gatus' | 'uptime-kuma',
  content: string | object,
  { env = {}, flags = [] }: { env?: Record<string, string>; flags?: readonly string[] } = {},
): Promise<Import> {
  const input = typeof content === 'string' ? content : JSON.stringify(content);
  const folder = await folderWith({ input });
  const ran = await runIn(folder, ['import', tool, 'input', ...flags, '-o', 'tocsin.yaml']);
  expect([ran.code, ran.out]).toEqual([0, '']);
  const [set] = await loadSets([], undefined, fakeTerminal(folder, { env }));
  const text = await readFile(join(folder, 'tocsin.yaml'), 'utf8');
  const monitors = (set?.monitors ?? []).map(({ fields }) => fields);
  return { source: set?.source, monitors, text, remarks: ran.err.split('\n') };
}

const sample = (name: string): string => readFileSync(join('packages/cli/test/samples', name), 'utf8');

const remarked = (...texts: string[]): unknown =>
  expect.arrayContaining(texts.map((text): unknown => expect.stringContaining(text)));

const HTTP = { name: 'shop', type: 'http', url: 'https://x.example' };

function importMonitors(monitors: object[], flags: readonly string[] = []): Promise<Import> {
  const monitorList = monitors.map((monitor) => ({ ...HTTP, ...monitor }));
  return importFrom('uptime-kuma', { monitorList }, { flags });
}

test('Uptime Kuma: monitors are converted, the rest is reported, and secrets stay out of the file', async () => {
  const secrets = {
    TOCSIN_SECRET_SHOP_C3121C_X_API_KEY_3E61F7D4A1754498: 's3cret',
    TOCSIN_SECRET_SHOP_C3121C_AUTHORIZATION_6B124EA20A32D3A9: 'Basic x',
    TOCSIN_SECRET_SHOP_C3121C_BODY_091248B12D13583A: '{"ping": true}',
  };
  const content = sample('uptime-kuma.json');
  const { source, monitors, text, remarks } = await importFrom('uptime-kuma', content, { env: secrets });
  expect(source).toBe('uptime-kuma');
  expect(monitors).toEqual([
    {
      externalId: 'shop-b7f66f',
      name: 'Shop',
      url: 'https://shop.example.com/',
      timeout: 48,
      failureThreshold: 3,
      retryInterval: 30,
      labels: { prod: 'true' },
    },
    {
      externalId: 'shop-c3121c',
      name: 'Shop',
      url: 'https://shop.example.com/api/orders',
      interval: 20,
      timeout: 13,
      method: 'POST',
      body: '{"ping": true}',
      assertions: { bodyContains: '"ok": ${x}', statusCode: 201 },
      headers: { 'Content-Type': 'application/json', 'X-Api-Key': 's3cret', Authorization: 'Basic x' },
    },
  ]);
  expect(text).not.toMatch(/s3cret|hunter2|cHJvYmU|ping/);
  expect(text.slice(text.indexOf('#'))).toBe(`#  # This monitor cannot pass: NTLM authentication
#  - externalId: no-errors
#    name: No errors
#    url: https://status.example.com/
#    timeout: 60
#    assertions:
#      bodyNotContains: error
#    failureThreshold: 2
`);
  expect(remarks).toEqual(
    remarked(
      'Imported: 2. Skipped: 6.',
      'Incomplete: 1. The file contains them as comments',
      '  Shop: not imported: certificate expiry notification; to get DOWN instead, add',
      '  Shop: timeout changed from 12.5 s to 13 s',
      '  Shop: TLS errors are no longer ignored',
      '  No errors: accepted status codes changed from 200-299, 404 to 200-399',
      '  No errors: not imported: headers, which are not a JSON object',
      '  No errors: not imported: NTLM authentication',
      '  DB port: skipped: type port is not supported',
      '  Paused: skipped: it is paused',
      '  Delete: skipped: method DELETE is not supported',
      '  Bad URL: skipped: url must not contain a user name',
      `set: ${Object.keys(secrets).join(', ')}. --secrets`,
    ),
  );
  const shown = await importFrom('uptime-kuma', content, { flags: ['--secrets'] });
  expect(shown.monitors[1]?.['headers']).toMatchObject({
    Authorization: `Basic ${Buffer.from('probe:hunter2').toString('base64')}`,
  });
});

test('Uptime Kuma: a body has a content type; unsupported settings and invalid fields are reported', async () => {
  const post = { method: 'POST', body: '<a/>' };
  const { monitors, remarks } = await importMonitors(
    [
      { name: 'xml', ...post, httpBodyEncoding: 'xml', parent: 7 },
      { ...post, httpBodyEncoding: 'form', headers: '{"content-type":"a/b"}' },
      { name: 'variable', url: '${SHOP_URL}/health' },
    ],
    ['--secrets'],
  );
  expect(monitors.map((fields) => fields['headers'])).toEqual([
    { 'Content-Type': 'text/xml; charset=utf-8' },
    { 'content-type': 'a/b' },
  ]);
  expect(remarks).toEqual(remarked('  xml: not imported: group', '  variable: skipped: url '));
});

test('Uptime Kuma: no timeout means the default, and one nested header does not drop the others', async () => {
  const headers = JSON.stringify({ Accept: 'a/b', Nested: { a: 1 }, 'Cache-Control': 'no-store' });
  const { monitors, remarks } = await importMonitors([
    { timeout: 0, headers },
    { name: 'b', timeout: null },
  ]);
  expect(monitors.map(({ timeout }) => timeout)).toEqual([undefined, undefined]);
  expect(monitors[0]?.['headers']).toEqual({ Accept: 'a/b', 'Cache-Control': 'no-store' });
  expect(remarks).toEqual(remarked('  shop: not imported: header Nested, whose value is not a text'));
});

test('Uptime Kuma: keys do not depend on the order, in backups and in database rows', async () => {
  const row = {
    ...HTTP,
    accepted_statuscodes_json: '["204"]',
    auth_method: null,
    retry_interval: 20,
    interval: 60,
  };
  const rows = [
    { ...row, id: 1 },
    { ...row, id: 2, name: 'Shop' },
    { ...row, id: 3, name: 'other', maxretries: 1 },
  ];
  const { monitors } = await importFrom('uptime-kuma', rows);
  const { monitors: reversed } = await importFrom('uptime-kuma', rows.toReversed());
  expect(reversed.toReversed()).toEqual(monitors);
  expect(monitors[2]).toMatchObject({
    externalId: 'other',
    retryInterval: 20,
    assertions: { statusCode: 204 },
  });
});

test('Uptime Kuma: tags become labels, and every change of a text is reported', async () => {
  const tags = [
    { name: 'prod', value: '' },
    { name: 'Team Größe', value: 'Shop & Käse' },
    { name: 'prod', value: 'again' },
    { name: '監視', value: null },
    { name: 'example.com/tier', value: 'web' },
  ];
  const { monitors, remarks } = await importMonitors([{ tags }]);
  const labels = { prod: 'true', 'Team-Gro-e': 'Shop-Kase', 'example.com/tier': 'web' };
  expect(monitors[0]?.labels).toEqual(labels);
  expect(remarks.filter((remark) => remark.includes('label'))).toEqual([
    '  shop: label Team Größe=Shop & Käse changed to Team-Gro-e=Shop-Kase',
    '  shop: not imported: label prod=again, because there is another prod',
    '  shop: not imported: label 監視=true, which has no letters or digits',
  ]);
});

test('Gatus: endpoints are converted, and the rest is reported', async () => {
  const env = { API_TOKEN: 't', TOCSIN_SECRET_CORE_BACK_END_BODY_B049605F07C239B6: '{"check": "all"}' };
  const flags = ['--source', 'old'];
  const { source, monitors, remarks } = await importFrom('gatus', sample('gatus.yaml'), { env, flags });
  expect(source).toBe('old');
  expect(monitors).toEqual([
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
  expect(remarks).toEqual(
    remarked(
      'Imported: 2. Skipped: 3.',
      '  core / back-end: timeout changed from 90 s to 60 s',
      '  core / back-end: not imported: condition [STATUS] < 300',
      '  core / back-end: not imported: condition [BODY].status == UP',
      '  core / back-end: TLS errors are no longer ignored',
      '  ping: skipped: icmp is not supported',
      '  off: skipped: it is disabled',
    ),
  );
});

test('Gatus: variables and the thresholds of the first alert are kept, unsupported settings reported', async () => {
  const { monitors, remarks } = await importFrom(
    'gatus',
    `
alerting: { slack: { default-alert: { failure-threshold: 2, success-threshold: 5 } } }
endpoints:
  - name: token
    url: https://x.example/$PATH_OF/$$5
    method: POST
    headers: { Authorization: 'Bearer $TOKEN', X-Number: 5 }
    body: 'cost $$5 $\${HOME} \${NAME}'
    conditions: ['[BODY] == pat(*ok*)']
    client: { oauth2: { token-url: x }, tls: { certificate-file: x } }
    alerts:
      - { type: email, failure-threshold: 4, success-threshold: 9 }
      - { type: slack, enabled: false, failure-threshold: 1 }
      - { type: slack, failure-threshold: 0 }
external-endpoints:
  - { name: pushed, token: x }
suites:
  - { name: flow, endpoints: [] }
`,
    { flags: ['--secrets', '--incomplete'], env: { PATH_OF: 'p', TOKEN: 't', NAME: 'n' } },
  );
  expect(monitors[0]).toMatchObject({
    url: 'https://x.example/p/$5',
    headers: { Authorization: 'Bearer t', 'X-Number': '5' },
    body: 'cost $5 ${HOME} n',
    failureThreshold: 2,
    recoveryThreshold: 5,
  });
  expect(remarks).toEqual(
    remarked(
      'Imported: 1. Skipped: 2.',
      '  token: not imported: OAuth 2 authentication',
      '  token: not imported: client certificate',
      '  token: no condition for the status',
      '  pushed: skipped: ',
      '  flow: skipped: ',
    ),
  );
});

test('Gatus: the group and extra labels become labels; the maintenance of all endpoints is reported', async () => {
  const labels = { env: '$ENV', tier: 1, group: 'other' };
  const endpoint = { name: 'a', group: 'Core Services', url: 'https://x.example', 'extra-labels': labels };
  const every = ['Monday', 'Thursday'];
  const maintenance = { start: '23:00', duration: '1h', timezone: 'Europe/Amsterdam', every };
  const content = { maintenance, endpoints: [endpoint] };
  const { monitors, remarks } = await importFrom('gatus', content, { env: { ENV: 'prod' } });
  expect(monitors[0]?.labels).toEqual({ group: 'Core-Services', env: 'prod', tier: '1' });
  expect(remarks).toEqual(
    remarked(
      '  not imported: maintenance from 23:00 for 1h (Europe/Amsterdam). Create a maintenance window for all monitors that repeats with FREQ=WEEKLY;BYDAY=MO,TH',
      '  Core Services / a: label group=Core Services changed to group=Core-Services',
      '  Core Services / a: not imported: label group=other, because there is another group',
    ),
  );
});

test('Gatus: a folder and a ConfigMap are read as one configuration', async () => {
  const endpoint = (name: string): string => `endpoints: [{ name: ${name}, url: "https://x.example" }]`;
  const indented = endpoint('c').replaceAll(/^/gm, '    ');
  const folder = await folderWith({
    'config/a.yaml': endpoint('a'),
    'config/deep/b.yml': endpoint('b'),
    'config/map.yaml': `kind: ConfigMap\ndata:\n  config.yaml: |\n${indented}\n  other: text\n`,
  });
  await runIn(folder, ['import', 'gatus', 'config', '-o', 'tocsin.yaml']);
  const [set] = await loadSets([], undefined, fakeTerminal(folder));
  expect(set?.monitors.map(({ fields }) => fields['name'])).toEqual(['a', 'b', 'c']);
});

test.each([
  ['uptime-kuma', 'x.json', 'The file is not a backup from Uptime Kuma, because it has no `monitorList`.'],
  ['uptime-kuma', 'bad.json', 'bad.json is not valid JSON.'],
  ['uptime-kuma', 'kuma.db', `kuma.db ${EXPORT_ADVICE}`],
  ['gatus', 'x.json', 'The file is not a Gatus configuration, because it has no `endpoints`.'],
])('import %s %s is refused in one line', async (tool, file, message) => {
  const folder = await folderWith({ 'x.json': '{}', 'bad.json': '{', 'kuma.db': 'SQLite format 3\0' });
  expect((await runIn(folder, ['import', tool, file])).err).toBe(`tocsin: ${message}`);
});
