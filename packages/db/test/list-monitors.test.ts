import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { deleteMonitor } from '@tocsin/db/monitors/delete-monitors';
import { readListedMonitors, readListVersion } from '@tocsin/db/monitors/list-monitors';
import { toMonitor } from '@tocsin/db/monitors/monitor-codec';
import { monitors } from '@tocsin/db/monitors/table';
import { desc, sql } from 'drizzle-orm';
import { copyMonitor, editMonitor, listMonitors, makeMonitor, useTestContext } from './harness.ts';

const context = await useTestContext();
const { db, actor } = context;

const { viewer, secrets } = context;
const { id } = await makeMonitor(context);
await copyMonitor(context, id, 600);

test('a list that is read while monitors are added and deleted has each other monitor exactly once', async () => {
  const ids = (await listMonitors(context, viewer)).map(({ id }) => id);
  const [updated = '', gone = '', goneToo = ''] = ids.slice(-3);
  const pages = readListedMonitors(context, viewer);
  const found: Monitor[] = [];
  const take = (page: string): number => found.push(...(JSON.parse(`[${page}]`) as Monitor[]));
  const first = await pages.next();
  if (first.done !== true) take(first.value);
  expect(found.length).toBeLessThan(ids.length - 3);
  const added = await makeMonitor(context);
  // The monitor seems to be committed late, because it is older than those still to be read.
  await db.execute(sql`update monitors set created_at = '2020-01-01' where id = ${added.id}`);
  await editMonitor(context, updated, { name: 'Updated' });
  for (const id of [gone, goneToo, ids[0] ?? '']) await deleteMonitor(db, actor, id);
  for await (const page of pages) take(page);
  expect(found.map(({ id }) => id)).toEqual(ids.filter((id) => id !== gone && id !== goneToo));
  expect(found.find(({ id }) => id === updated)?.name).toBe('Updated');
});

test.each([true, false])('each monitor is shown as elsewhere (may write: %s)', async (canWrite) => {
  await makeMonitor(context, {
    name: 'Größe "1" \u2028 \\ 😀',
    method: 'POST',
    headers: { Authorization: 'Bearer café', 'X-Empty': '' },
    body: '{"a": "\t"}\n',
    assertions: { bodyContains: '"\n', maxLatency: 900 },
    regions: ['eu', 'us'],
    retryInterval: 10,
    labels: { 'example.com/team': 'a', app: '' },
  });
  const { id } = await makeMonitor(context, { headers: { Authorization: 'a' } });
  await db.execute(sql`
    update monitors set sealed_headers = '{"Authorization": "v1.00000000.lost"}', status = 'DOWN', error_detail = E'refused\\nagain',
      last_checked_at = '2026-01-01T00:00:00.100Z' where id = ${id}`);
  await db.execute(sql`update monitors set error_detail = 'not shown' where status = 'PENDING'`);
  const rows = await db.select().from(monitors).orderBy(desc(monitors.createdAt), desc(monitors.id));
  const expected = rows.map((row) => toMonitor(row, secrets, { canWrite }));
  // Texts are compared, because the order of fields must be the same as well.
  expect(JSON.stringify(await listMonitors(context, { ...viewer, canWrite }))).toBe(JSON.stringify(expected));
});

test.each([
  ['bodies', 8, { method: 'POST', body: 'x'.repeat(60_000) }],
  [
    'header values',
    8,
    { headers: Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`X-${n}`, 'x'.repeat(8_000)])) },
  ],
  ['URLs', 300, { url: `https://a.example/${'x'.repeat(1_900)}` }],
] as const)('a page has fewer monitors if their %s are long', async (_, count, fields) => {
  const { id } = await makeMonitor(context, fields);
  await db.execute(sql`update monitors set source = ${id} where id = ${id}`);
  await copyMonitor(context, id, count - 1);
  const pages: string[] = [];
  for await (const page of readListedMonitors(context, viewer, { source: id })) pages.push(page);
  expect(JSON.parse(`[${pages.join(',')}]`)).toHaveLength(count);
  expect(Math.max(...pages.map((page) => page.length))).toBeLessThan(350_000);
});

test('the version depends on the keys of the server and on what the viewer may see', async () => {
  const version = await readListVersion(context, viewer);
  const otherKeys = { ...context, secrets: new SecretBox([randomBytes(32)]) };
  expect(await readListVersion(otherKeys, viewer)).not.toBe(version);
  const hidden = { ...viewer, canWrite: false };
  expect(await readListVersion(context, hidden)).not.toBe(version);
  expect(await readListVersion(otherKeys, hidden)).toBe(await readListVersion(context, hidden));
});
