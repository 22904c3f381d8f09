import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openDatabase } from '@tocsin/db/database/open';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { sql } from 'drizzle-orm';
import { folderWith } from './fake-terminal.ts';

let system: System;
let api: ServiceProcess;
beforeAll(async () => {
  system = await createSystem({ queue: 'postgres', receiverCa: '' });
  api = system.service('api');
  await api.start();
});
afterAll(() => system.close());

const COUNT = 60;

const fileOf = (source: string): string =>
  `source: ${source}\nmonitors:\n${Array.from(
    { length: COUNT },
    (_, index) => `  - { externalId: ${source}-${index}, name: n, url: "https://x.example" }\n`,
  ).join('')}`;

function start(folder: string, args: string[]): ChildProcess {
  return spawn(process.execPath, ['packages/cli/bin/tocsin.js', ...args, '-f', join(folder, 'a.yaml')], {
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      TOCSIN_URL: `http://127.0.0.1:${api.port}`,
      TOCSIN_API_KEY: system.apiKey,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function finish(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  let [out, err] = ['', ''];
  child.stdout?.on('data', (bytes: Buffer) => (out += String(bytes)));
  child.stderr?.on('data', (bytes: Buffer) => (err += String(bytes)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

async function countOf(source: string): Promise<number> {
  const { rows } = await system.context.db.execute<{ count: number }>(
    sql`select count(*)::int as count from monitors where source = ${source}`,
  );
  return rows[0]?.count ?? 0;
}

/** Blocks the API in the middle of writing a set, until `resume`. */
async function blockWrites(
  source: string,
): Promise<{ reached: () => Promise<void>; resume: () => Promise<void> }> {
  const database = openDatabase({
    url: system.databaseUrl,
    poolSize: 1,
    applicationName: 'blocked writes',
    onIdleError: () => undefined,
  });
  const client = await database.pool.connect();
  await client.query('begin');
  const id = '00000000-0000-7000-8000-000000000001';
  await client.query(
    `insert into monitors (id, account_id, name, url, type, interval_seconds, timeout_seconds, method, failure_threshold,
       regions, external_id) values ($1, $2, 'x', 'https://x.example', 'HTTP', 60, 10, 'GET', 1, '{}', $3)`,
    [id, system.context.accountId, `${source}-${COUNT - 1}`],
  );
  return {
    async reached() {
      for (;;) {
        const { rows } = await system.context.db.execute(
          sql`select 1 from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into monitors%'`,
        );
        if (rows.length > 0) return;
        await delay(50);
      }
    },
    async resume() {
      await client.query('rollback');
      client.release();
      await database.close();
    },
  };
}

test('apply changes nothing when its server is killed, and completes when repeated', async () => {
  const folder = await folderWith({ 'a.yaml': fileOf('server') });
  const blocked = await blockWrites('server');
  const running = start(folder, ['apply']);
  const ended = finish(running);
  await blocked.reached();
  await api.signal('SIGKILL');
  await blocked.resume();
  await api.start();
  // It repeats its request to the old port, where no server listens.
  running.kill('SIGKILL');
  await ended;
  expect(await countOf('server')).toBe(0);
  const again = await finish(start(folder, ['apply']));
  expect([again.code, again.err]).toEqual([0, '']);
  expect(await countOf('server')).toBe(COUNT);
  expect((await finish(start(folder, ['diff', '--prune']))).code).toBe(0);
});

test('a killed apply changes everything or nothing, and completes when repeated', async () => {
  const folder = await folderWith({ 'a.yaml': fileOf('client') });
  const blocked = await blockWrites('client');
  const running = start(folder, ['apply']);
  await blocked.reached();
  running.kill('SIGKILL');
  await once(running, 'close');
  await blocked.resume();
  const again = await finish(start(folder, ['apply']));
  expect([again.code, again.err]).toEqual([0, '']);
  expect(await countOf('client')).toBe(COUNT);
  expect((await finish(start(folder, ['diff', '--prune']))).code).toBe(0);
});

test('two concurrent applies both succeed and create each monitor once; stdout has only data', async () => {
  const folder = await folderWith({ 'a.yaml': fileOf('both') });
  const both = await Promise.all([1, 2].map(() => finish(start(folder, ['apply', '--json']))));
  expect(both.map(({ code, err }) => [code, err])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  for (const { out } of both) expect(JSON.parse(out)).toMatchObject({ sets: [{ source: 'both' }] });
  expect(await countOf('both')).toBe(COUNT);
});
