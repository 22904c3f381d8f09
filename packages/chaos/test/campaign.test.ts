import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { processesOf, startProgram, type StartedProgram } from '@tocsin/e2e/started-program';

const onLinux = process.platform === 'linux' ? describe : describe.skip;

const CLOCKS = ['clock-api', 'clock-checker', 'clock-notifier'];
const withoutClock = (kind: string): object => ({
  invariant: 'every kind of fault is fired',
  detail: `${kind} was not: there is no libfaketime`,
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(process.env['TEST_FOLDER'] ?? tmpdir(), 'chaos-'));
});
afterAll(async () => {
  // One that a test did not wait for leaves nothing behind either.
  for (const { child, ended } of runs) {
    child.kill('SIGTERM');
    await ended;
  }
  await rm(folder, { recursive: true, force: true });
}, 60_000);

const runs: StartedProgram[] = [];

function campaign(args: readonly string[], dataDir: string): StartedProgram {
  const run = startProgram(new URL('../dist/main.js', import.meta.url), args, dataDir);
  runs.push(run);
  return run;
}

onLinux('npm run test:faults', () => {
  test('two minutes of every kind of fault: nothing is lost, nothing leaks, nothing is left behind', async () => {
    const dataDir = join(folder, 'two minutes');
    await mkdir(dataDir);
    const json = join(folder, 'campaign.json');
    const { code, stdout, stderr } = await campaign(
      ['--seed', '1', '--minutes', '2', '--json', json],
      dataDir,
    ).ended;
    expect(stderr).toBe('');
    const [{ violations, figures }] = JSON.parse(await readFile(json, 'utf8'));
    // Where libfaketime cannot be installed, it is said; nothing else may be left out, or be wrong.
    const clocks = stdout.includes('THERE IS NO libfaketime') ? CLOCKS : [];
    expect(violations).toEqual(clocks.map(withoutClock));
    expect(code).toBe(clocks.length === 0 ? 0 : 1);
    expect(figures.kinds).toBe(figures.kindsWanted - clocks.length);
    expect(await readdir(dataDir)).toEqual(clocks.length === 0 ? [] : ['failed-campaigns']);
    expect(await processesOf(dataDir)).toEqual([]);
  }, 1_200_000);

  test('leaves nothing behind when it is stopped half-way', async () => {
    const dataDir = join(folder, 'stopped');
    await mkdir(dataDir);
    const run = campaign(['--minutes', '2'], dataDir);
    await run.said('faults …');
    expect(await processesOf(dataDir)).not.toEqual([]);
    run.child.kill('SIGINT');
    expect((await run.ended).code).toBe(130);
    expect(await readdir(dataDir)).toEqual([]);
    expect(await processesOf(dataDir)).toEqual([]);
  }, 300_000);
});

test.each([
  [['--help'], 0, /--print-schedule/, ''],
  [['--seed', '3', '--print-schedule'], 0, /kill-notifier-after-send +notifier-[12]/, ''],
  [['--seed', 'x'], 1, /^$/, '--seed must be a whole number from 1 to 2147483648, not "x"\n'],
])('npm run test:faults -- %j', async (args, code, stdout, stderr) => {
  const ended = await campaign(args, folder).ended;
  expect(ended).toEqual({ code, stdout: expect.stringMatching(stdout), stderr });
});
