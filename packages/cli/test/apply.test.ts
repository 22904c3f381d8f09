import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newMonitor } from '@tocsin/api/testing/monitors';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { revealChannelSecret } from '@tocsin/db/channels/channel-secrets';
import { entry, fileOf, folderWith } from './fake-terminal.ts';
import { openRealApi, type RealApi } from './real-api.ts';

let api: RealApi;
beforeAll(async () => {
  api = await openRealApi({ settings: { regions: ['default', 'eu'] } });
});
afterAll(() => api.close());

test('a file is compared, applied, applied again without changes, changed and pruned', async () => {
  const labeled = entry('way-a', ', labels: { app: shop, tier: web }');
  const folder = await folderWith({ 'tocsin.yaml': fileOf('way', labeled, entry('way-b')) });
  expect(await api.tocsin(folder, ['apply', '--dry-run'])).toMatchObject({
    code: 2,
    out: `source way
  + way-a  https://way-a.example
  + way-b  https://way-b.example
  2 to create, 0 to change, 0 to delete, 0 unchanged`,
  });
  expect(await api.keysOf('way')).toEqual([]);
  expect(await api.tocsin(folder, ['apply', '--yes'])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/\nsource way: 2 created, 0 changed, 0 deleted, 0 unchanged$/),
  });
  for (const [command, dryRun] of Object.entries({ 'apply --yes': false, diff: true })) {
    const { code, out } = await api.tocsin(folder, [...command.split(' '), '--json']);
    expect([code, JSON.parse(out)]).toMatchObject([0, { sets: [{ dryRun, changed: false }] }]);
  }

  const changed = entry(
    'way-a',
    ', interval: 30, headers: { X: secret }, regions: [eu], labels: { app: shop, tier: api, team: a }',
  );
  await writeFile(join(folder, 'tocsin.yaml'), fileOf('way', changed));
  const env = { TOCSIN_API_KEY: api.account.readKey };
  expect(await api.tocsin(folder, ['diff', '--prune'], { env })).toMatchObject({
    code: 2,
    out: `source way
  ~ way-a  interval 60 → 30, headers, regions [] → ["eu"], labels -tier=*** +team=a +tier=api
  - way-b
  0 to create, 1 to change, 1 to delete, 0 unchanged`,
  });
  const kept = await api.tocsin(folder, ['apply', '--yes']);
  expect(kept.out).toContain('1 in no file, kept without --prune: way-b');
  expect(await api.keysOf('way')).toEqual(['way-a', 'way-b']);
  expect((await api.tocsin(folder, ['apply', '--prune', '--yes'])).code).toBe(0);
  expect(await api.keysOf('way')).toEqual(['way-a']);
});

test('values of variables are not shown, because logs contain plans', async () => {
  const fileWith = (name: string, url: string, rest: string, path: string): string => `source: veil-\${WORD}
monitors:
  - { externalId: "veil-\${WORD}", name: "${name}", url: "${url}", ${rest} }
channels:
  - { externalId: veil-b, name: b, url: "https://b.invalid/${path}", selector: {} }
`;
  const first = fileWith(
    'A ${WORD}',
    'https://a.example/${WORD}?token=hush-query',
    'labels: { app: shop, type: "${WORD}" }, assertions: { bodyContains: "${WORD}" }',
    'old/${WORD}',
  );
  const second = fileWith('A 2', 'https://a.example/x?hush', 'labels: { app: shop }', 'new');
  const folder = await folderWith({ 'tocsin.yaml': first });
  let text = '';
  const ran = async (WORD: string, ...args: string[]): Promise<string> => {
    const { out, err } = await api.tocsin(folder, args, { env: { WORD } });
    text += `${out}\n${err}\n`;
    return out;
  };
  expect((await ran('hush-one', 'diff')).split('\n')).toContain(
    '  + veil-${WORD}  https://a.example/${WORD}?***',
  );
  await ran('hush-one', 'apply', '--yes');
  await writeFile(join(folder, 'tocsin.yaml'), first.replaceAll('veil-${WORD}', 'veil-hush-one'));
  expect((await ran('hush-two', 'diff')).split('\n')).toContain(
    '  ~ veil-hush-one  name A *** → A ${WORD}, url https://a.example/*** → https://a.example/${WORD}?***, assertions {"bodyContains":"***"} → {"bodyContains":"${WORD}"}, labels -type=*** +type=${WORD}',
  );
  text = text.replaceAll('veil-hush-one', '');
  await writeFile(join(folder, 'tocsin.yaml'), second);
  expect((await ran('hush-one', 'diff')).split('\n').slice(1)).toEqual([
    '  ~ veil-${WORD}  name A *** → A 2, url https://a.example/*** → https://a.example/x?***, assertions {"bodyContains":"***"} → default, labels -type=***',
    '  0 to create, 1 to change, 0 to delete, 0 unchanged',
    '  ~ channel veil-b  url https://b.invalid/*** → https://b.invalid/new',
    '  channels: 0 to create, 1 to change, 0 to delete, 0 unchanged',
  ]);
  expect(JSON.parse(await ran('hush-one', 'diff', '--json'))).toMatchObject({
    sets: [
      {
        source: 'veil-${WORD}',
        updated: [
          {
            externalId: 'veil-${WORD}',
            changes: [
              { field: 'name', from: 'A ***', to: 'A 2' },
              { field: 'url', from: 'https://a.example/***', to: 'https://a.example/x?***' },
              { field: 'assertions', from: { bodyContains: '***' }, to: null },
              { field: 'labels', from: { app: 'shop', type: '***' }, to: { app: 'shop' } },
            ],
          },
        ],
        channels: { updated: [{ changes: [{ field: 'url', to: 'https://b.invalid/new' }] }] },
      },
    ],
  });
  await writeFile(join(folder, 'tocsin.yaml'), fileOf('veil', entry('veil-c', ', regions: ["${WORD}"]')));
  await ran('hush-one', 'apply', '--yes');
  await ran('hush-one', 'apply', '--yes', '--json');
  expect(text).not.toContain('hush');
});

test('apply asks for confirmation, unless --yes is given, and does nothing without a terminal', async () => {
  const folder = await folderWith({ 'tocsin.yaml': fileOf('ask', entry('ask-a')) });
  expect(await api.tocsin(folder, ['apply'], { answer: false })).toMatchObject({
    code: 1,
    questions: ['Apply these changes?'],
    err: 'Nothing was changed.',
  });
  expect(await api.tocsin(folder, ['apply'])).toMatchObject({
    code: 6,
    out: '',
    err: 'tocsin: There is no terminal to confirm the changes. To make them without confirmation, add --yes.',
  });
  expect(await api.keysOf('ask')).toEqual([]);
  expect((await api.tocsin(folder, ['apply', '--yes'], { answer: false })).questions).toEqual([]);
  expect(await api.keysOf('ask')).toEqual(['ask-a']);
});

test('a confirmed apply is refused if the plan has changed', async () => {
  const folder = await folderWith({ 'tocsin.yaml': fileOf('agreed', entry('agreed-a')) });
  const answer = async (): Promise<void> => {
    await newMonitor(api, { externalId: 'agreed-b', source: 'agreed' });
  };
  const { code, err } = await api.tocsin(folder, ['apply', '--prune'], { answer });
  expect(code).toBe(3);
  expect(err).toContain('The plan for source agreed has changed since it was shown.');
  expect(await api.keysOf('agreed')).toEqual(['agreed-b']);
});

test('if one of several sources fails, the results of the earlier ones are printed', async () => {
  const files = ['a', 'b', 'c'].map((name) => [`${name}.yaml`, fileOf(`part-${name}`, entry(name))]);
  const folder = await folderWith(Object.fromEntries(files));
  const answer = async (): Promise<void> => {
    await newMonitor(api, { externalId: 'b', source: 'part-b' });
  };
  const { code, out, err } = await api.tocsin(folder, ['apply', '-f', '.', '--json'], { answer });
  expect([code, err]).toEqual([3, expect.stringContaining('Not applied: part-b, part-c.')]);
  expect([await api.keysOf('part-a'), await api.keysOf('part-c')]).toEqual([['a'], []]);
  const sets = [{ dryRun: false }, { dryRun: true }, { dryRun: true }];
  expect(JSON.parse(out)).toMatchObject({ sets });
});

test('errors of the API have positions in the file', async () => {
  const { id } = await newMonitor(api, { externalId: 'place-b', name: 'By hand' });
  const folder = await folderWith({ 'm/a.yaml': fileOf('place', entry('place-a', ', regions: [mars]')) });
  expect(await api.tocsin(folder, ['apply', '-f', 'm', '--yes'])).toMatchObject({
    code: 6,
    err: `tocsin: 1 error in the files:\n  m/a.yaml:3:85: regions.0 must be one of default, eu`,
  });
  await writeFile(join(folder, 'm/a.yaml'), fileOf('place', entry('place-a'), entry('place-b')));
  const { code, err } = await api.tocsin(folder, ['apply', '-f', 'm', '--yes']);
  expect([code, err.split('\n')]).toEqual([
    3,
    [
      expect.stringContaining('Set the source of that monitor to this source first'),
      `  m/a.yaml:4:7: externalId "place-b" is the externalId of monitor ${id} ("By hand"), which has no source`,
    ],
  ]);
  expect(await api.keysOf('place')).toEqual([]);
});

test("apply with a read key, or for another team's source, says which key is needed", async () => {
  const folder = await folderWith({ 'tocsin.yaml': fileOf('bound', entry('bound-a')) });
  const { key } = await api.newKey('read,write', null, ['team/*']);
  const applyWith = async (apiKey: string): Promise<string> => {
    const { code, err } = await api.tocsin(folder, ['apply', '--yes'], { env: { TOCSIN_API_KEY: apiKey } });
    expect(code).toBe(1);
    return err;
  };
  expect(await applyWith(api.account.readKey)).toMatch(/TOCSIN_API_KEY needs the scope write\.$/);
  const bound = await applyWith(key);
  expect(bound).toContain('source "bound"');
  expect(bound).not.toContain('scope write');
  expect(await api.keysOf('bound')).toEqual([]);
});

describe('channels', () => {
  const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;

  const secretOf = async (of: Channel | undefined): Promise<string> =>
    revealChannelSecret(api.context, systemActor(api.account.id), of?.id ?? '');
  const folderOf = (source: string, ...channels: string[]): Promise<string> =>
    folderWith({ 'tocsin.yaml': `${fileOf(source)}channels: [${channels.join(', ')}]\n` });

  test('are planned, applied with their secrets, changed and pruned', async () => {
    const first = await folderOf(
      'hook',
      '{ externalId: hook-a, name: A, url: "https://a.invalid", selector: { matchLabels: { app: shop } } }',
      '{ externalId: hook-b, name: B, url: "https://${HOST}/hook", secret: "${HOOK_SECRET}" }',
    );
    const env = { HOST: 'b.invalid', HOOK_SECRET: SECRET };
    expect((await api.tocsin(first, ['diff'], { env })).out.split('\n').slice(2)).toEqual([
      '  + channel hook-a  https://a.invalid',
      '  + channel hook-b  https://${HOST}/hook',
      '  channels: 2 to create, 0 to change, 0 to delete, 0 unchanged',
    ]);
    const applied = await api.tocsin(first, ['apply', '--yes'], { env });
    const [b, a] = await api.channelsOf('hook');
    expect(applied.out.split('\n').slice(6)).toEqual([
      'channels of hook: 2 created, 0 changed, 0 deleted, 0 unchanged',
      'Generated secrets, shown only once. Store them where webhooks are verified, and keep this output private:',
      `  channel hook-a: ${await secretOf(a)}`,
    ]);
    expect(applied.out + applied.err).not.toContain(SECRET);
    expect(await secretOf(b)).toBe(SECRET);
    expect((await api.tocsin(first, ['diff'], { env })).code).toBe(0);
    const kept = await api.tocsin(await folderOf('hook'), ['diff']);
    expect(kept.out).toContain('  channels: 2 in no file, kept without --prune: hook-a, hook-b');

    const second = await folderOf(
      'hook',
      '{ externalId: hook-b, name: Pager, url: "https://b.invalid/hook", secret: "${HOOK_SECRET}", selector: {} }',
    );
    const other = { HOOK_SECRET: `whsec_${Buffer.alloc(24, 2).toString('base64')}` };
    const changed = await api.tocsin(second, ['apply', '--prune', '--yes'], { env: other });
    expect(changed.out.split('\n').slice(2, 5)).toEqual([
      '  ~ channel hook-b  name *** → Pager, selector none → every monitor, secret',
      '  - channel hook-a',
      '  channels: 0 to create, 1 to change, 1 to delete, 0 unchanged',
    ]);
    expect(await secretOf(b)).toBe(other.HOOK_SECRET);
    expect(await api.channelsOf('hook')).toMatchObject([{ externalId: 'hook-b', selector: {} }]);
  });

  test('keep their secret and their webhooks under another externalId if they are renamed first', async () => {
    const first = await folderOf('key', '{ externalId: key-a, name: A, url: "https://a.invalid" }');
    expect((await api.tocsin(first, ['apply', '--yes'])).code).toBe(0);
    const [before] = await api.channelsOf('key');
    const second = await folderOf('key', '{ externalId: key-b, name: A, url: "https://a.invalid" }');
    const diff = await api.tocsin(second, ['diff', '--prune']);
    expect(diff.out.split('\n').slice(-2)).toEqual([
      '  key-b is probably key-a under a new externalId. Applying deletes its secret and the webhooks that are due. To rename it instead, first run:',
      '    tocsin rename --channel key-a key-b',
    ]);
    const args = ['rename', '--channel', 'key-a', 'key-b'];
    expect((await api.tocsin(second, args)).out).toMatch(/^Renamed /);
    expect((await api.tocsin(second, args)).out).toMatch(/^Already renamed: "key-b" is channel /);
    expect(await api.channelsOf('key')).toMatchObject([{ id: before?.id, externalId: 'key-b' }]);
    expect((await api.tocsin(second, ['diff', '--prune'])).code).toBe(0);
  });

  test('have their generated secrets in the output of --json', async () => {
    const folder = await folderOf('json', '{ externalId: json, name: a, url: "https://a.invalid" }');
    const { out } = await api.tocsin(folder, ['apply', '--json', '--yes']);
    const [channel] = await api.channelsOf('json');
    const created = [{ id: channel?.id, externalId: 'json', secret: await secretOf(channel) }];
    expect(JSON.parse(out)).toMatchObject({ sets: [{ channels: { created } }] });
  });

  test('have errors with positions, including errors that only the server finds', async () => {
    const faultsOf = async (args: string[], channels: string): Promise<string> => {
      const folder = await folderWith({ 'tocsin.yaml': `${fileOf('errors')}channels:\n${channels}` });
      return (await api.tocsin(folder, args)).err;
    };
    const fields = (url: string): string => `  - externalId: a\n    name: a\n    url: ${url}\n`;
    const other = '  - { externalId: b, name: b, url: "https://b.invalid", source: x }\n';
    const invalid = await faultsOf(['validate'], fields('http://a.invalid') + other);
    expect([...invalid.matchAll(/(\d+:\d+: \w+)/g)].map(([text]) => text)).toEqual([
      '6:5: url',
      '7:57: source',
    ]);
    expect(await faultsOf(['diff'], fields('https://127.0.0.1/'))).toContain(
      '  tocsin.yaml:6:5: url cannot be a receiver',
    );
    const unknown = `${fields('https://a.invalid')}    monitorExternalIds: [x]\n`;
    expect(await faultsOf(['apply', '--yes'], unknown)).toContain(
      '  tocsin.yaml:7:26: monitorExternalIds.0 "x"',
    );
  });
});
