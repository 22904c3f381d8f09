import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { previewBodies } from '@tocsin/core/formats/render-body';
import { type FileSet, loadSets } from '@tocsin-monitor/cli/files/load-sets';
import { EXPORT_ADVICE } from '@tocsin-monitor/cli/import/uptime-kuma';
import { fakeTerminal, folderWith, runIn } from './fake-terminal.ts';

type Fields = FileSet['monitors'][number]['fields'];

interface Import {
  readonly source: string | undefined;
  readonly monitors: readonly Fields[];
  readonly channels: readonly Readonly<Record<string, unknown>>[];
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
  const channels = (set?.channels ?? []).map(({ fields }) => fields);
  return { source: set?.source, monitors, channels, text, remarks: ran.err.split('\n') };
}

const sample = (name: string): string => readFileSync(join('packages/cli/test/samples', name), 'utf8');

const remarked = (...texts: string[]): unknown =>
  expect.arrayContaining(texts.map((text): unknown => expect.stringContaining(text)));

const CERTIFICATE = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const KEY = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';

const jsonQuery = (jsonPath: string, expectedValue: string, jsonPathOperator = '=='): object => ({
  type: 'json-query',
  jsonPath,
  expectedValue,
  jsonPathOperator,
});

/** The JSON documents that a template renders for a monitor that goes down and recovers. */
function rendered(template: unknown): unknown[] {
  const bodies = previewBodies({ format: 'custom', template: String(template) }, 'https://tocsin.example');
  return bodies.slice(0, 2).map(({ body }): unknown => JSON.parse(body));
}

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
      followRedirects: false,
      tls: { verify: false },
      assertions: { bodyContains: '"ok": ${x}', statusCode: 201 },
      headers: { 'Content-Type': 'application/json', 'X-Api-Key': 's3cret', Authorization: 'Basic x' },
    },
    { externalId: 'paused', name: 'Paused', url: 'https://old.example.com', enabled: false },
  ]);
  expect(text).not.toMatch(/s3cret|hunter2|cHJvYmU|ping/);
  expect(text.slice(text.indexOf('#'))).toBe(`#  # This monitor cannot pass: NTLM authentication
#  - externalId: no-errors
#    name: No errors
#    url: https://status.example.com/
#    timeout: 60
#    assertions:
#      statusCodes:
#        - 200-299
#        - 404
#      bodyNotContains: error
#    failureThreshold: 2
`);
  expect(remarks).toEqual(
    remarked(
      'Imported: 3. Skipped: 5. Channels: 0.',
      'Incomplete: 1. The file contains them as comments',
      '  Shop: not imported: certificate expiry notification; to get DOWN instead, add',
      '  Shop: timeout changed from 12.5 s to 13 s',
      '  No errors: not imported: headers, which are not a JSON object',
      '  No errors: not imported: NTLM authentication',
      '  DB port: skipped: type port is not supported',
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

test.each<[fields: object, expected: object]>([
  [{ method: 'get', ipFamily: 'ipv6' }, { ipFamily: 6 }],
  [
    { authMethod: 'bearer', bearer_token: 't', accepted_statuscodes: ['204'] },
    { headers: { Authorization: 'Bearer t' }, assertions: { statusCode: 204 } },
  ],
  [
    { accepted_statuscodes: ['200-299', '401'], maxredirects: 3 },
    { assertions: { statusCodes: ['200-299', 401] } },
  ],
  [{ maxredirects: 0 }, { assertions: { statusCodes: ['200-299'] }, followRedirects: false }],
  [
    { authMethod: 'mtls', tlsCert: CERTIFICATE, tlsKey: KEY, tlsCa: CERTIFICATE, ignoreTls: 1 },
    { tls: { certificate: CERTIFICATE, key: KEY, ca: CERTIFICATE, verify: false } },
  ],
  [{ type: 'keyword', keyword: 'a "b"' }, { assertions: { bodyContains: 'a "b"' } }],
  [
    { type: 'keyword', keyword: '{"a":[1.5]}' },
    { assertions: { bodyMatches: String.raw`\s*\{\s*"a"\s*:\s*\s*\[\s*1\.5\s*\]\s*\s*\}\s*` } },
  ],
  [jsonQuery('$.status', 'ok'), { assertions: { json: [{ path: '$.status', equals: 'ok' }] } }],
  [jsonQuery('a.b[0].`c d`', '1'), { assertions: { json: [{ path: '$.a.b[0]["c d"]', matches: '^1$' }] } }],
  [jsonQuery('$[-1].a', 'x', 'contains'), { assertions: { json: [{ path: '$[-1].a', contains: 'x' }] } }],
  [
    jsonQuery('a', '1', '!='),
    {
      assertions: {
        json: [{ path: '$[?$.a != null && $.a && !($.a == "1" || $.a == 1)]', exists: true }],
      },
    },
  ],
  [jsonQuery('', 'o.k'), { assertions: { bodyMatches: String.raw`^\s*"?o\.k"?\s*$` } }],
  [jsonQuery('$', 'ok', 'contains'), { assertions: { bodyContains: 'ok' } }],
])('Uptime Kuma: %j is converted without a loss', async (fields, expected) => {
  const { monitors, remarks } = await importMonitors([fields], ['--secrets']);
  expect(monitors[0]).toMatchObject(expected);
  expect(remarks.filter((remark) => remark.startsWith('  '))).toEqual([]);
});

test.each<[fields: object, remark: string, assertions: object | undefined]>([
  [
    jsonQuery('n', '5', '<'),
    '$.n must be a JSON number, not a number in quotes',
    { json: [{ path: '$.n', lessThan: 5 }] },
  ],
  [jsonQuery('$count(items)', '1'), 'not imported: JSON query $count(items) == 1', undefined],
  [jsonQuery('$name', '1'), 'not imported: JSON query $name == 1', undefined],
  [jsonQuery('a-b', '1'), 'not imported: JSON query a-b == 1', undefined],
  [jsonQuery('a', 'x', '>'), 'not imported: JSON query a > x', undefined],
  [jsonQuery('$', 'x', '!='), 'not imported: JSON query $ != x', undefined],
  [
    { type: 'keyword', keyword: '"a":1', invertKeyword: true },
    'the keyword must have the same spaces as the JSON body',
    { bodyNotContains: '"a":1' },
  ],
  [{ cacheBust: true }, 'not imported: cache buster', undefined],
  [{ domainExpiryNotification: true }, 'not imported: domain expiry notification', undefined],
  [{ retryOnlyOnStatusCodeFailure: true }, 'failures of the JSON query are retried too', undefined],
  [{ upsideDown: true }, 'skipped: upside down mode is not supported', undefined],
  [{ type: 'ping' }, 'skipped: type ping is not supported, only HTTP', undefined],
  [{ authMethod: 'mtls' }, 'not imported: client certificate', undefined],
])('Uptime Kuma: %j is reported', async (fields, remark, assertions) => {
  const { monitors, remarks } = await importMonitors([fields]);
  expect(remarks.filter((one) => one.startsWith('  '))).toEqual([`  shop: ${remark}`]);
  expect(monitors[0]?.assertions).toEqual(assertions);
});

test('Uptime Kuma: notifications become channels, and their URLs and keys stay out of the file', async () => {
  const body = '{ "text": "{{ msg }}", "up": "{{ heartbeatJSON["status"] }}", "of": "{{NAME}}" }';
  const notificationList = [
    { type: 'slack', slackwebhookURL: 'https://hooks.example/T0' },
    { type: 'PagerDuty', pagerdutyIntegrationKey: 'k3y' },
    {
      type: 'webhook',
      webhookURL: 'https://hook.example/json',
      webhookAdditionalHeaders: '{"Authorization":"Bearer t"}',
    },
    {
      type: 'webhook',
      webhookURL: 'https://hook.example/custom',
      webhookContentType: 'custom',
      webhookCustomBody: body,
    },
    {
      type: 'webhook',
      webhookURL: 'https://hook.example',
      webhookContentType: 'custom',
      webhookCustomBody: '{{ x }}',
    },
    {
      type: 'webhook',
      webhookURL: 'https://hook.example',
      webhookContentType: 'custom',
      webhookCustomBody: '{{msg}}',
    },
    { type: 'teams', webhookUrl: 'http://teams.example' },
    { type: 'telegram' },
  ].map((config, index) => ({ id: index + 1, name: `n${index + 1}`, config: JSON.stringify(config) }));
  const ids = { 1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true, 10: false };
  const monitorList = [
    { ...HTTP, notificationIDList: ids, resendInterval: 10 },
    { ...HTTP, name: 'other', notificationIDList: { 1: true } },
    { ...HTTP, name: 'third', notificationIDList: [1] },
  ];
  const content = { monitorList, notificationList };
  const { channels, remarks } = await importFrom('uptime-kuma', content, { flags: ['--secrets'] });
  const events = ['monitor.down', 'monitor.up'];
  expect(channels).toEqual([
    {
      externalId: 'n1',
      name: 'n1',
      url: 'https://hooks.example/T0',
      format: 'slack',
      events,
      remindAfter: 600,
      monitorExternalIds: ['shop'],
    },
    {
      externalId: 'n1-2',
      name: 'n1',
      url: 'https://hooks.example/T0',
      format: 'slack',
      events,
      monitorExternalIds: ['other', 'third'],
    },
    expect.objectContaining({
      url: 'https://events.pagerduty.com/v2/enqueue',
      format: 'pagerduty',
      routingKey: 'k3y',
      events: ['monitor.down'],
    }),
    expect.objectContaining({ url: 'https://hook.example/json', headers: { Authorization: 'Bearer t' } }),
    expect.objectContaining({ url: 'https://hook.example/custom', format: 'custom' }),
  ]);
  const [down, up] = rendered(channels[4]?.['template']);
  expect(down).toEqual({ text: '[Shop "checkout"] [🔴 Down] HTTP_503', up: '0', of: 'Shop "checkout"' });
  expect(up).toMatchObject({ text: '[Shop "checkout"] [✅ Up] ', up: '1' });
  expect(remarks).toEqual(
    remarked(
      'Imported: 3. Skipped: 0. Channels: 5.',
      '  shop: alerts by n3 now have the payload of Tocsin',
      '  shop: not imported: alerts by n5, because its body uses {{ x }}',
      '  shop: not imported: alerts by n6, because its body is not JSON',
      '  shop: not imported: alerts by n8, because Tocsin has no format for telegram',
      '  shop: not imported: alerts by notification 9, because the file does not have its settings',
      '  channel n7: skipped: url must',
    ),
  );
  const folder = await folderWith({ input: JSON.stringify(content) });
  const ran = await runIn(folder, ['import', 'uptime-kuma', 'input']);
  expect(ran.out + ran.err).not.toMatch(/T0|k3y|Bearer t|hook\.example/);
  expect(ran.out).toContain('url: ${TOCSIN_SECRET_N1_URL_');
});

test('Uptime Kuma: rows of the database have their tags and notifications', async () => {
  const config = JSON.stringify({ type: 'slack', name: 'ops', slackwebhookURL: 'https://hooks.example' });
  const row = {
    ...HTTP,
    id: 1,
    type: 'json-query',
    json_path: 'a',
    json_path_operator: 'contains',
    expected_value: 'b',
    ignore_tls: 1,
    parent: 2,
    tags: '[{"name":"env","value":"prod"}]',
    notifications: JSON.stringify({ 7: config }),
  };
  const rows = [row, { id: 2, name: 'Group', type: 'group' }];
  const { monitors, channels } = await importFrom('uptime-kuma', rows, { flags: ['--secrets'] });
  expect(monitors[0]).toMatchObject({
    tls: { verify: false },
    assertions: { json: [{ path: '$.a', contains: 'b' }] },
    labels: { group: 'Group', env: 'prod' },
  });
  expect(channels).toMatchObject([{ name: 'ops', format: 'slack', monitorExternalIds: ['shop'] }]);
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
  const env = {
    API_TOKEN: 't',
    TOCSIN_SECRET_CORE_BACK_END_BODY_B049605F07C239B6: '{"check": "all"}',
    TOCSIN_SECRET_SLACK_URL_2D51ECAE24875527: 'https://hooks.slack.com/services/T/B/X',
  };
  const flags = ['--source', 'old'];
  const { source, monitors, channels, remarks } = await importFrom('gatus', sample('gatus.yaml'), {
    env,
    flags,
  });
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
      tls: { verify: false },
      assertions: {
        statusCodes: ['100-299'],
        bodyNotContains: 'error',
        json: [{ path: '$.status', equals: 'UP' }],
      },
      labels: { group: 'core' },
      headers: { Authorization: 'Bearer t' },
    },
    {
      externalId: 'off',
      name: 'off',
      url: 'https://off.example.com',
      enabled: false,
      assertions: { statusCode: 200 },
    },
  ]);
  expect(channels).toEqual([
    {
      externalId: 'slack',
      name: 'slack',
      url: 'https://hooks.slack.com/services/T/B/X',
      format: 'slack',
      events: ['monitor.down', 'monitor.up'],
      monitorExternalIds: ['core-front-end'],
    },
  ]);
  expect(remarks).toEqual(
    remarked(
      'Imported: 3. Skipped: 2. Channels: 1.',
      '  core / front-end: all alerts now have the thresholds of the first one',
      '  core / front-end: not imported: alerts by email, because `alerting` does not configure them',
      '  core / back-end: timeout changed from 90 s to 60 s',
      '  ping: skipped: icmp is not supported',
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
    client: { oauth2: { token-url: x }, ignore-redirect: true, tls: { certificate-file: /a/b.crt, private-key-file: /a/b.key } }
    alerts:
      - { type: email, failure-threshold: 4, success-threshold: 9 }
      - { type: slack, enabled: false, failure-threshold: 1 }
      - { type: slack, failure-threshold: 0 }
external-endpoints:
  - { name: pushed, token: x }
suites:
  - { name: flow, endpoints: [] }
`,
    {
      flags: ['--secrets', '--incomplete'],
      env: { PATH_OF: 'p', TOKEN: 't', NAME: 'n', A_B_CRT: CERTIFICATE, A_B_KEY: KEY },
    },
  );
  expect(monitors[0]).toMatchObject({
    url: 'https://x.example/p/$5',
    headers: { Authorization: 'Bearer t', 'X-Number': '5' },
    body: 'cost $5 ${HOME} n',
    followRedirects: false,
    tls: { certificate: CERTIFICATE, key: KEY },
    assertions: { statusCodes: ['100-599'], bodyContains: 'ok' },
    failureThreshold: 2,
    recoveryThreshold: 5,
  });
  expect(remarks).toEqual(
    remarked(
      'Imported: 1. Skipped: 2.',
      '  token: not imported: OAuth 2 authentication',
      '  token: set A_B_KEY to the content of /a/b.key',
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

test('Gatus: alerts become channels with the settings of their group', async () => {
  const { monitors, channels, remarks } = await importFrom(
    'gatus',
    `
alerting:
  slack:
    webhook-url: https://hooks.example/all
    title: Down
    default-alert: { minimum-reminder-interval: 30m, send-on-resolved: true }
    overrides: [{ group: core, webhook-url: $CORE_URL }]
  teams: { webhook-url: https://teams.example/old }
  teams-workflows: { webhook-url: https://teams.example/new }
  pagerduty: { integration-key: '\${PAGERDUTY_KEY}' }
  discord: { webhook-url: https://discord.example }
  custom:
    url: https://hook.example
    method: POST
    headers: { Authorization: Bearer t }
    placeholders: { ALERT_TRIGGERED_OR_RESOLVED: { RESOLVED: it's "fine" } }
    body: |
      { "text": "[ENDPOINT_GROUP]/[ENDPOINT_NAME] [ALERT_TRIGGERED_OR_RESOLVED]: [ALERT_DESCRIPTION]", "why": ["[RESULT_ERRORS]"] }
endpoints:
  - name: a
    group: core
    url: https://a.example
    alerts:
      - type: slack
      - { type: custom, description: 'say "hi"' }
      - { type: custom, enabled: '$ON', provider-override: { method: GET } }
      - { type: custom, provider-override: { url: 'https://hook.example/[ENDPOINT_NAME]' } }
      - { type: custom, provider-override: { body: '{ "url": "[ENDPOINT_URL]" }' } }
      - { type: custom, provider-override: { body: 'down' } }
  - name: b
    url: https://b.example
    alerts: [{ type: slack, send-on-resolved: false }, { type: teams }, { type: teams-workflows }, { type: discord }]
  - name: c
    url: https://c.example
    alerts: [{ type: slack, minimum-reminder-interval: 10s }, { type: pagerduty }, { type: pagerduty, failure-threshold: 9 }]
`,
    {
      flags: ['--secrets'],
      env: { CORE_URL: 'https://hooks.example/core', PAGERDUTY_KEY: 'k3y', ON: 'true' },
    },
  );
  expect(monitors).toHaveLength(3);
  const [custom, pagerduty, ...others] = channels;
  expect(custom).toMatchObject({
    url: 'https://hook.example',
    headers: { Authorization: 'Bearer t' },
    events: ['monitor.down'],
    monitorExternalIds: ['core-a'],
  });
  expect(rendered(custom?.['template'])).toEqual([
    { text: '/Shop "checkout" TRIGGERED: say "hi"', why: ['HTTP_503'] },
    { text: '/Shop "checkout" it\'s "fine": say "hi"', why: [''] },
  ]);
  expect(pagerduty).toMatchObject({ routingKey: 'k3y', format: 'pagerduty', monitorExternalIds: ['c'] });
  const slack = { name: 'slack', format: 'slack', url: 'https://hooks.example/all' };
  expect(others).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        ...slack,
        url: 'https://hooks.example/core',
        remindAfter: 1_800,
        monitorExternalIds: ['core-a'],
      }),
      expect.objectContaining({ ...slack, events: ['monitor.down'], monitorExternalIds: ['b'] }),
      expect.objectContaining({ ...slack, remindAfter: 300, monitorExternalIds: ['c'] }),
      expect.objectContaining({ format: 'teams', url: 'https://teams.example/old' }),
      expect.objectContaining({ format: 'teams', url: 'https://teams.example/new' }),
    ]),
  );
  expect(remarks).toEqual(
    remarked(
      'Channels: 7.',
      '  core / a: not imported: title of alerts by slack',
      '  core / a: not imported: alerts by custom, because their method is not POST',
      '  core / a: not imported: alerts by custom, because their URL has placeholders',
      '  core / a: not imported: alerts by custom, because its body uses [ENDPOINT_URL]',
      '  core / a: not imported: alerts by custom, because its body is not JSON',
      '  b: alerts by teams need the URL of a Teams workflow',
      '  b: not imported: alerts by discord, because Tocsin has no such channel',
      '  c: remindAfter changed from 10 s to 300 s',
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
