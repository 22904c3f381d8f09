import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

/** The built one, as a process of its own: `npm test` builds first. */
const MAIN = new URL('../dist/main.js', import.meta.url).href;
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

interface Run {
  readonly child: ReturnType<typeof spawn>;
  /** Resolves once it has said this, or ended. */
  readonly said: (text: string) => Promise<void>;
  readonly ended: Promise<{ code: unknown; stdout: string; stderr: string }>;
}

const runs: Run[] = [];

function campaign(args: readonly string[], dataDir: string): Run {
  const script = `import(${JSON.stringify(MAIN)}).then(({ main }) => main(process.argv.slice(1)))`;
  const child = spawn(process.execPath, ['-e', script, '--', ...args], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  child.stdout.on('data', (chunk) => (stdout += String(chunk)));
  const ended = Promise.all([once(child, 'exit'), once(child.stderr, 'end'), once(child.stdout, 'end')]).then(
    ([[code]]) => ({ code: code as unknown, stdout, stderr }),
  );
  const said = async (text: string): Promise<void> => {
    while (!stdout.includes(text) && child.exitCode === null) {
      await Promise.race([once(child.stdout, 'data'), ended]);
    }
  };
  const run = { child, said, ended };
  runs.push(run);
  return run;
}

/** The processes that were told of a folder, and those that work in it. */
async function processesOf(path: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry));
  const told = await Promise.all(
    pids.map(async (pid) => {
      const read = (file: string): Promise<string> =>
        readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
      return `${await read('environ')}${await read('cmdline')}`.includes(path);
    }),
  );
  return pids.filter((_, index) => told[index]);
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
