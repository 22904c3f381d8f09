import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startProgram } from '@tocsin/e2e/started-program';

const onLinux = process.platform === 'linux' ? describe : describe.skip;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(process.env['TEST_FOLDER'] ?? tmpdir(), 'life-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function run(
  program: 'restarts' | 'soak',
  args: readonly string[],
  dataDir: string,
): Promise<{ code: number | null; said: string }> {
  const main = new URL(`../dist/life/${program}/main.js`, import.meta.url);
  const { code, stdout, stderr } = await startProgram(main, args, dataDir).ended;
  return { code, said: stdout + stderr };
}

onLinux('npm run test:restarts', () => {
  test('a restart of each service under load stalls, loses, repeats and breaks nothing', async () => {
    const dataDir = join(folder, 'restarts');
    await mkdir(dataDir);
    const json = join(folder, 'restarts.json');
    const args = ['--times', '1', '--rate', '20', '--json', json];
    expect(await run('restarts', args, dataDir)).toMatchObject({ code: 0 });
    const { stops } = JSON.parse(await readFile(json, 'utf8'));
    expect(stops).toHaveLength(7);
    expect(await readdir(dataDir)).toEqual([]);
  }, 180_000);
});

onLinux('npm run test:soak', () => {
  test.each([
    [['--help'], 0, /--minutes N +how long; 30 by default/],
    [['--minutes', 'x'], 1, /^--minutes must be a number/],
  ])('%j', async (args, code, said) => {
    expect(await run('soak', args, folder)).toEqual({ code, said: expect.stringMatching(said) });
  });
});
