import { mkdir, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startProgram } from '@tocsin/lab/started-program';
import { processesOf } from '@tocsin/embedded/program/sweep';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeAll(async () => {
  folder = await createTemporaryFolder();
});
afterAll(() => folder.remove());

test('npm run bench measures a small load, misses no check and leaves nothing behind', async () => {
  const dataDir = join(folder.path, 'data');
  await mkdir(dataDir);
  const json = join(folder.path, 'figures.json');
  const main = new URL('../dist/main.js', import.meta.url);
  // The interval is 5 s, so every monitor is checked once.
  const args = ['http-1000', '--rate', '10', '--seconds', '5', '--json', json];
  const { code, stdout, stderr } = await startProgram(main, args, dataDir).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/checks recorded +[\d.]+ \/s/);
  const { machine, results } = JSON.parse(await readFile(json, 'utf8'));
  expect(machine).toMatchObject({ node: process.versions.node });
  const [{ figures }] = results;
  const value = (key: string): number => figures.find((figure: { key: string }) => figure.key === key)?.value;
  expect(value('missed')).toBe(0);
  expect(value('done')).toBeGreaterThan(5);
  for (const key of ['lag-p99', 'cpu', 'floor', 'cpu-checker', 'redis-bytes', 'recorded-max']) {
    expect([key, value(key)]).toEqual([key, expect.any(Number)]);
  }
  expect(await readdir(dataDir)).toEqual([]);
  expect(await processesOf(dataDir)).toEqual([]);
});
