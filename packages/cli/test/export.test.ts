import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { newMonitor } from '@tocsin/api/testing/monitors';
import { parse } from 'yaml';
import { entry, fileOf, folderWith } from './fake-terminal.ts';
import { openRealApi } from './real-api.ts';

const api = await openRealApi();
afterAll(() => api.close());

/** Applies a file, which must change nothing. */
async function expectNoChange(folder: string, file: string): Promise<void> {
  const { out } = await api.tocsin(folder, ['apply', '-f', file, '--prune', '--json', '--yes']);
  expect(JSON.parse(out)).toMatchObject({ sets: [{ changed: false }] });
}

test('an exported file changes nothing, and --adopt includes monitors without a source', async () => {
  const folder = await folderWith({ 'tocsin.yaml': fileOf('out', entry('out-a')) });
  await api.tocsin(folder, ['apply', '--yes']);
  await newMonitor(api, {
    name: 'Free: Bird ${1}',
    headers: { 'X-Key': 'secret ${x}', Accept: '*/*' },
    method: 'POST',
    body: 'a\n "b" ${c}\n',
  });
  await newMonitor(api, { source: 'other' });
  expect((await api.tocsin(folder, ['export'])).err).toContain('Select one with --source');
  const exported = (...args: string[]) => api.tocsin(folder, ['export', '--source', 'out', ...args]);
  expect((await exported('-o', 'one.yaml')).code).toBe(0);
  await expectNoChange(folder, 'one.yaml');

  expect(await exported('--adopt', '-o', 'one.yaml')).toMatchObject({
    code: 6,
    err: 'tocsin: one.yaml already exists. Choose another file.',
  });
  expect(await api.keysOf('out')).toEqual(['out-a']);
  expect((await exported('--adopt', '-o', 'two.yaml')).err).toMatch(
    /set: TOCSIN_SECRET_FREE_BIRD_1_X_KEY_2336B0C8E1F29828, TOCSIN_SECRET_FREE_BIRD_1_BODY_278F82E44B66FDE5\. --secrets/,
  );
  const written = await readFile(join(folder, 'two.yaml'), 'utf8');
  expect(written).toMatch(/^# yaml-language-server: \$schema=http:\/\/127[\d.:]+\/schemas\/tocsin\.json\n/);
  expect(written).toContain('body: ${TOCSIN_SECRET_FREE_BIRD_1_BODY_278F82E44B66FDE5}\n');
  expect(await api.keysOf('out')).toEqual(['free-bird-1', 'out-a']);
  expect((await exported('--secrets', '-o', 'three.yaml')).code).toBe(0);
  await expectNoChange(folder, 'three.yaml');
});

test('an export with a read key has required fields and labels, and variables for fields that the key cannot read', async () => {
  await newMonitor(api, {
    externalId: 'dim',
    source: 'dim',
    name: '-',
    url: 'https://example.com',
    headers: { Accept: 'text/html', 'X-Key': 's3cret' },
    labels: { app: 'shop' },
  });
  const env = { TOCSIN_API_KEY: api.account.readKey };
  const args = ['export', '--source', 'dim'];
  const ran = await api.tocsin('/', args, { env });
  expect(ran.code).toBe(0);
  expect(ran.err).toContain('This API key cannot read request bodies, header values and routing keys.');
  expect(ran.out.split('\n').slice(3)).toEqual([
    '  - externalId: dim',
    "    name: '-'",
    '    url: https://example.com',
    '    labels:',
    '      app: shop',
    '    headers:',
    expect.stringMatching(/^ {6}X-Key: \$\{TOCSIN_SECRET_DIM_X_KEY_\w+\}$/),
    expect.stringMatching(/^ {6}Accept: \$\{TOCSIN_SECRET_DIM_ACCEPT_\w+\}$/),
  ]);
  expect(await api.tocsin('/', [...args, '--secrets'], { env })).toMatchObject({
    code: 6,
    out: '',
    err: expect.stringContaining('For --secrets, use a key with the scope write'),
  });
});

test('no monitor makes an exported file read other environment variables', async () => {
  const placeholder = 'a$${AWS_SECRET_ACCESS_KEY} ${AWS_SECRET_ACCESS_KEY} $';
  const source = 'hostile ${HOME}';
  for (const fields of [
    { externalId: 'aws-secret', headers: { 'Access-Key': 'x', 'User-Agent': placeholder } },
    { externalId: 'tocsin-api', headers: { Key: 'x' } },
    {
      externalId: placeholder,
      name: placeholder,
      url: 'https://a.example/${AWS_SECRET_ACCESS_KEY}',
      method: 'POST',
      body: placeholder,
      assertions: { bodyContains: placeholder },
      runbookUrl: 'https://a.example/$${AWS_SECRET_ACCESS_KEY}',
    },
  ])
    await newMonitor(api, { source, ...fields });
  const folder = await folderWith();
  const hidden = await api.tocsin(folder, ['export', '--source', source, '-o', 'hidden.yaml']);
  expect(hidden.err).toMatch(
    /TOCSIN_SECRET_AWS_SECRET_ACCESS_KEY_[0-9A-F]{16}, TOCSIN_SECRET_TOCSIN_API_KEY_[0-9A-F]{16}/,
  );
  const written = await readFile(join(folder, 'hidden.yaml'), 'utf8');
  const read = [...written.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name]) => name?.slice(0, 14));
  expect(read).toEqual(['TOCSIN_SECRET_', 'TOCSIN_SECRET_', 'TOCSIN_SECRET_']);
  // With the values in it, the file contains no variable.
  await api.tocsin(folder, ['export', '--source', source, '--secrets', '-o', 'shown.yaml']);
  await expectNoChange(folder, 'shown.yaml');
});

test('an exported file contains the channels without secrets, and applying it changes nothing', async () => {
  const { id } = await newMonitor(api, { source: 'hooks', externalId: 'hooks-a' });
  const common = { name: 'x', url: 'https://a.invalid/${x}', source: 'hooks' };
  const selector = { matchLabels: { app: 'shop' } };
  const b = { externalId: 'hooks-b', ...common, selector, events: ['monitor.down'], monitorIds: [id] };
  const a = { externalId: 'hooks-a', ...common, allMonitors: true };
  for (const channel of [b, a, common, { ...common, externalId: 'hooks-other', source: 'other' }])
    expect((await api.as().post('/api/cli/channels').send(channel)).status).toBe(201);
  const folder = await folderWith();
  const args = ['export', '--source', 'hooks'];
  await api.tocsin(folder, [...args, '-o', 'tocsin.yaml']);
  const { out, err } = await api.tocsin(folder, args);
  expect(err).toContain('Skipped channels without an externalId: 1.');
  const url = 'https://a.invalid/$${x}';
  expect(parse(out)).toMatchObject({
    channels: [
      { externalId: 'hooks-a', name: 'x', url, allMonitors: true },
      { externalId: 'hooks-b', name: 'x', url, selector, monitorExternalIds: ['hooks-a'], events: b.events },
    ],
  });
  expect(out).not.toContain('whsec_');
  expect((await api.tocsin(folder, ['diff'])).code).toBe(0);
});
