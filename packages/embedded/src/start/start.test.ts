import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { errorCode } from '@tocsin/runtime/error-code';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { until } from '../testing/until.ts';

/** The built program, run as a separate process. `npm test` builds first. */
const HARNESS = fileURLToPath(new URL('../../test/start-harness.js', import.meta.url));
const LISTENING = '0A';

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let child: ChildProcess | undefined;
beforeEach(async () => {
  folder = await createTemporaryFolder();
});
afterEach(async () => {
  if (child?.exitCode === null) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  await folder.remove();
});

/** @returns also everything that it has printed once it is running */
async function start(env: Record<string, string>): Promise<{ pid: number; output: string }> {
  const started = spawn(process.execPath, [HARNESS], {
    env: { PATH: process.env['PATH'], DATA_DIR: join(folder.path, 'data'), PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child = started;
  let output = '';
  started.stdout.on('data', (chunk) => (output += String(chunk)));
  await until('it runs', () => started.exitCode !== null || output.includes('Press Ctrl-C to stop'));
  return { pid: started.pid ?? 0, output };
}

interface Process {
  readonly command: string;
  readonly uid: number;
  /** Such as `127.0.0.1:3000`. */
  readonly listensOn: readonly string[];
}

async function childrenOf(parent: number): Promise<Process[]> {
  const sockets = await listeningSockets();
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid): Promise<Process[]> => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      if (Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]) !== parent) return [];
      return readProcess(pid, sockets).then(
        (process) => [process],
        (error: unknown) => {
          // It has ended in the meantime.
          if (['ENOENT', 'ESRCH'].includes(errorCode(error) ?? '')) return [];
          throw error;
        },
      );
    }),
  );
  return found.flat();
}

async function readProcess(pid: string, sockets: ReadonlyMap<string, string>): Promise<Process> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const descriptors = await readdir(`/proc/${pid}/fd`);
  const links = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  return {
    command: (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' '),
    uid: Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]),
    listensOn: links.flatMap((link) => sockets.get(link) ?? []),
  };
}

/** The addresses of listening sockets, by the link of their file descriptor. */
async function listeningSockets(): Promise<ReadonlyMap<string, string>> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  const rows = tables.flatMap((table) => table.split('\n').slice(1)).map((line) => line.trim().split(/\s+/));
  return new Map(
    rows
      .filter(([, , , state]) => state === LISTENING)
      .map(([, local = '', , , , , , , , inode]) => [`socket:[${inode}]`, addressOf(local)]),
  );
}

/** @param local as `0100007F:0BB8` */
function addressOf(local: string): string {
  const [address = '', port = ''] = local.split(':');
  const bytes = address.match(/../g)?.map((byte) => Number.parseInt(byte, 16)) ?? [];
  const host = bytes.length === 4 ? bytes.toReversed().join('.') : 'IPv6';
  return `${host}:${Number.parseInt(port, 16)}`;
}

// Listening addresses are read from `/proc`, which other systems do not have.
(process.platform === 'linux' ? describe : describe.skip)('npm start', () => {
  it('listens on loopback only, prints each address, and runs nothing as root', async () => {
    const { pid, output } = await start({});
    const children = await childrenOf(pid);
    const services = children.filter(({ command }) => /services\/(api|checker|notifier)\/dist/.test(command));
    expect(services).toHaveLength(3);
    for (const { command, uid } of children) expect([command, uid === 0]).toEqual([command, false]);
    const addresses = children.flatMap(({ listensOn }) => listensOn);
    expect(addresses.length).toBeGreaterThanOrEqual(4);
    for (const address of addresses) {
      expect(address).toMatch(/^127\.0\.0\.1:/);
      expect(output).toContain(address);
    }
    const [, url = ''] = /running at (\S+)/.exec(output) ?? [];
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect((await fetch(`${url}/`)).headers.get('content-type')).toMatch(/^text\/html/);
  });

  it('listens on HOST if set, with the health servers still on loopback', async () => {
    const { pid, output } = await start({ HOST: '127.0.0.3' });
    const children = await childrenOf(pid);
    const ofApi = children.find(({ command }) => command.includes('services/api/'))?.listensOn ?? [];
    expect(ofApi).toEqual([expect.stringMatching(/^127\.0\.0\.3:\d+$/)]);
    for (const { listensOn, command } of children)
      if (!command.includes('services/api/'))
        for (const address of listensOn) expect(address).toMatch(/^127\.0\.0\.1:/);
    const [, url = ''] = /running at (\S+)/.exec(output) ?? [];
    expect(url).toBe(`http://${ofApi[0]}`);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });
});
