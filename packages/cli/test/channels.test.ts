import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apply } from '@tocsin-monitor/cli/commands/apply';
import { newMonitor } from '@tocsin/api/testing/monitors';
import { openTestApi, type TestApi } from '@tocsin/api/testing/test-api';
import type { Channel } from '@tocsin/contracts/channels/channel';
import type { ChannelSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { revealChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { parse } from 'yaml';
import { clientOf, json, lost } from './fake-api.ts';
import { fakeTerminal, folderWith, type Ran, runIn } from './fake-terminal.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;

function tocsin(folder: string, args: string[], env: Record<string, string> = {}): Promise<Ran> {
  const server = { TOCSIN_URL: `http://127.0.0.1:${api.port}/`, TOCSIN_API_KEY: api.account.key };
  return runIn(folder, args, { ...server, ...env });
}

async function channelsOf(source: string): Promise<Channel[]> {
  const { body } = await api.as().get('/api/cli/channels');
  return (body as { channels: Channel[] }).channels.filter((channel) => channel.source === source);
}

async function secretOf({ id }: Pick<Channel, 'id'>): Promise<string> {
  return revealChannelSecret(api.context, systemActor(api.account.id), id);
}

const monitorsOf = (...keys: string[]): string =>
  `monitors: [${keys.map((key) => `{ externalId: ${key}, name: ${key}, url: "https://a.example" }`).join(', ')}]\n`;

test('channels of a file are planned, applied with their secrets, changed and pruned', async () => {
  const file = (channels: string): string => `source: way\n${monitorsOf('way')}channels:\n${channels}`;
  const first = await folderWith({
    'tocsin.yaml': file(`
  - { externalId: way-a, name: A, url: "https://a.invalid", selector: { matchLabels: { app: shop } } }
  - { externalId: way-b, name: B, url: "https://\${HOST}/hook", secret: "\${WAY_SECRET}", monitorExternalIds: [way] }
`),
  });
  const env = { HOST: 'b.invalid', WAY_SECRET: SECRET };
  const dry = await tocsin(first, ['diff'], env);
  expect([dry.code, dry.out]).toEqual([
    2,
    `source way
  + way  https://a.example
  1 to create, 0 to change, 0 to delete, 0 unchanged
  + channel way-a  https://a.invalid
  + channel way-b  https://\${HOST}/hook
  channels: 2 to create, 0 to change, 0 to delete, 0 unchanged`,
  ]);
  const applied = await tocsin(first, ['apply'], env);
  const [b, a] = await channelsOf('way');
  expect([applied.code, applied.out.split('\n').slice(6)]).toEqual([
    0,
    [
      'source way: 1 created, 0 changed, 0 deleted, 0 unchanged',
      'channels of way: 2 created, 0 changed, 0 deleted, 0 unchanged',
      'Generated secrets, shown only once. Store them where webhooks are verified, and keep this output private:',
      `  channel way-a: ${a && (await secretOf(a))}`,
    ],
  ]);
  expect(applied.out + applied.err).not.toContain(SECRET);
  expect(b && (await secretOf(b))).toBe(SECRET);
  expect((await tocsin(first, ['diff'], env)).code).toBe(0);

  const second = await folderWith({
    'tocsin.yaml': file(
      '  - { externalId: way-b, name: Pager, url: "https://b.invalid/hook", secret: "${WAY_SECRET}", selector: {} }\n',
    ),
  });
  const other = `whsec_${Buffer.alloc(24, 2).toString('base64')}`;
  const changed = await tocsin(second, ['apply', '--prune'], { WAY_SECRET: other });
  expect(changed.out.split('\n')).toEqual([
    'source way',
    '  0 to create, 0 to change, 0 to delete, 1 unchanged',
    '  ~ channel way-b  name B → Pager, selector none → every monitor, monitorExternalIds, secret',
    '  - channel way-a',
    '  channels: 0 to create, 1 to change, 1 to delete, 0 unchanged',
    'source way: 0 created, 0 changed, 0 deleted, 1 unchanged',
    'channels of way: 0 created, 1 changed, 1 deleted, 0 unchanged',
  ]);
  expect(b && (await secretOf(b))).toBe(other);
  expect(await channelsOf('way')).toMatchObject([{ externalId: 'way-b', name: 'Pager', selector: {} }]);
});

test('files of one source share their channels; without `channels`, they stay untouched', async () => {
  const channel = (key: string): string =>
    `channels: [{ externalId: ${key}, name: ${key}, url: "https://${key}.invalid" }]\n`;
  const folder = await folderWith({
    'a/a.yaml': `source: share\n${monitorsOf('share-a')}${channel('share-a')}`,
    'a/b.yaml': `source: share\n${monitorsOf()}${channel('share-b')}`,
    'a/c.yaml': `source: share\n${monitorsOf()}`,
    'none.yaml': `source: share\n${monitorsOf('share-a')}`,
    'empty.yaml': `source: share\n${monitorsOf('share-a')}channels: []\n`,
  });
  expect((await tocsin(folder, ['apply', '-f', 'a', '--prune'])).code).toBe(0);
  expect(await channelsOf('share')).toHaveLength(2);
  expect((await tocsin(folder, ['apply', '-f', 'none.yaml', '--prune'])).code).toBe(0);
  expect(await channelsOf('share')).toHaveLength(2);
  const kept = await tocsin(folder, ['diff', '-f', 'empty.yaml']);
  expect(kept.out).toContain('  channels: 2 in no file, kept without --prune: share-a, share-b');
  expect((await tocsin(folder, ['apply', '-f', 'empty.yaml', '--prune'])).code).toBe(0);
  expect(await channelsOf('share')).toEqual([]);
});

test('--json contains the secrets', async () => {
  const folder = await folderWith({
    'tocsin.yaml': `source: json\n${monitorsOf()}channels: [{ externalId: json, name: a, url: "https://a.invalid" }]\n`,
  });
  const { out } = await tocsin(folder, ['apply', '--json']);
  const [set] = (JSON.parse(out) as { sets: { channels: ChannelSetResult }[] }).sets;
  const [channel] = await channelsOf('json');
  expect(set?.channels.created).toEqual([
    { id: channel?.id, externalId: 'json', secret: channel && (await secretOf(channel)) },
  ]);
});

test('errors of channels have their position, also those that only the server finds', async () => {
  const head = `source: errors\n${monitorsOf()}channels:\n`;
  const invalid = await folderWith({
    'tocsin.yaml': `${head}  - externalId: a
    name: a
    url: http://a.invalid
    secret: short
  - { externalId: b, name: b, url: "https://b.invalid", source: x }
  - { externalId: a, name: c, url: "https://c.invalid", monitorIds: [] }
`,
  });
  const { code, err } = await tocsin(invalid, ['validate']);
  expect(code).toBe(1);
  const lines = err.split('\n').map((line) => line.trim());
  expect(lines).toEqual([
    'tocsin: 4 errors in the files:',
    'tocsin.yaml:6:5: url must be https: plain HTTP is refused',
    expect.stringMatching(/^tocsin\.yaml:7:5: secret must be `whsec_`/),
    expect.stringMatching(/^tocsin\.yaml:8:57: source is not a known field/),
    expect.stringMatching(/^tocsin\.yaml:9:57: monitorIds is not a known field/),
  ]);
  const refused = await folderWith({
    'tocsin.yaml': `${head}  - externalId: a\n    name: a\n    url: https://127.0.0.1/\n`,
  });
  expect((await tocsin(refused, ['diff'])).err).toContain('  tocsin.yaml:6:5: url cannot be a receiver');
  const unknown = await folderWith({
    'tocsin.yaml': `${head}  - externalId: a\n    name: a\n    url: https://a.invalid\n    monitorExternalIds: [x]\n`,
  });
  expect((await tocsin(unknown, ['apply'])).err).toContain('  tocsin.yaml:7:26: monitorExternalIds.0 "x"');
});

test('validate needs no value of a secret', async () => {
  const folder = await folderWith({
    'tocsin.yaml': `source: a\n${monitorsOf()}channels:\n  - { externalId: a, name: a, url: "\${URL}", secret: "\${SECRET}" }\n`,
  });
  const { code, out, err } = await tocsin(folder, ['validate']);
  expect([code, out]).toEqual([0, 'Valid. Files: 1, sources: 1, monitors: 0, channels: 1.']);
  expect(err).toContain('SECRET is not set');
});

test('an exported file contains the channels without secrets, and applying it changes nothing', async () => {
  const { id } = await newMonitor(api, { source: 'export', externalId: 'export-a' });
  const unkeyed = await newMonitor(api, { source: 'export' });
  const common = { name: 'x', url: 'https://a.invalid/${x}', source: 'export' };
  const channels = [
    {
      externalId: 'export-b',
      ...common,
      selector: { matchLabels: { app: 'shop' } },
      events: ['monitor.down'],
      monitorIds: [id, unkeyed.id],
    },
    { externalId: 'export-a', ...common, allMonitors: true },
    common,
    { ...common, externalId: 'export-other', source: 'other' },
  ];
  for (const channel of channels)
    expect((await api.as().post('/api/cli/channels').send(channel)).status).toBe(201);
  const [, , first] = await channelsOf('export');
  await api
    .as()
    .patch(`/api/cli/channels/${first?.id}`)
    .send({ monitorIds: [id] });
  const folder = await folderWith();
  const ran = await tocsin(folder, ['export', '--source', 'export', '-o', 'tocsin.yaml']);
  expect([ran.code, ran.err]).toEqual([
    0,
    expect.stringContaining('Skipped channels without an externalId: 1.'),
  ]);
  const written = await tocsin(folder, ['export', '--source', 'export']);
  expect(parse(written.out)).toMatchObject({
    channels: [
      { externalId: 'export-a', name: 'x', url: 'https://a.invalid/$${x}', allMonitors: true },
      {
        externalId: 'export-b',
        name: 'x',
        url: 'https://a.invalid/$${x}',
        selector: { matchLabels: { app: 'shop' } },
        monitorExternalIds: ['export-a'],
        events: ['monitor.down'],
      },
    ],
  });
  expect(written.out).not.toContain('whsec_');
  expect((await tocsin(folder, ['diff'])).code).toBe(0);
});

test('a secret that was lost with a response is reported', async () => {
  const none = { created: [], updated: [], deleted: [], unchanged: [], unlisted: [] };
  const created = [{ id: null, externalId: 'lost', secret: null }];
  const set = { source: 'lost', dryRun: true, changed: true, ...none, channels: { ...none, created } };
  const repeated = { ...set, dryRun: false, changed: false, channels: none };
  const { client } = await clientOf([json(set), lost, json(repeated)]);
  const file = `source: lost\n${monitorsOf()}channels: [{ externalId: lost, name: a, url: "https://a.invalid" }]\n`;
  const terminal = fakeTerminal(await folderWith({ 'tocsin.yaml': file }));
  expect(await apply(client, terminal, {})).toBe(0);
  expect(terminal.notes).toContain(
    'Channels whose generated secrets were lost with a response: lost. An owner can reveal them in the dashboard.',
  );
});

test('rename-source moves channels, too', async () => {
  const file = (source: string): string =>
    `source: ${source}\n${monitorsOf('renamed')}channels: [{ externalId: renamed, name: a, url: "https://a.invalid" }]\n`;
  const folder = await folderWith({ 'old.yaml': file('old-name'), 'new.yaml': file('new-name') });
  expect((await tocsin(folder, ['apply', '-f', 'old.yaml'])).code).toBe(0);
  const { out } = await tocsin(folder, ['rename-source', 'old-name', 'new-name']);
  expect(out).toBe('Moved to source "new-name": 2. Change `source` in the files, too.');
  expect((await tocsin(folder, ['diff', '-f', 'new.yaml'])).code).toBe(0);
});
