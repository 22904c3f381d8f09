import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { HttpTarget } from '../local-web/http-target.ts';
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

/** Starts the program. @returns also everything that it had printed when it was running */
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
  readonly pid: number;
  readonly command: string;
  readonly uid: number;
  /** Addresses such as `127.0.0.1:3000`. */
  readonly listensOn: readonly string[];
}

async function childrenOf(parent: number): Promise<Process[]> {
  const addresses = await listeningAddresses();
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid): Promise<Process[]> => {
      // A process may end in the meantime.
      const read = (name: string): Promise<string> =>
        readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '');
      const status = await read('status');
      if (Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) !== parent) return [];
      const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
      const linkOf = (fd: string): Promise<string> => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      const links = await Promise.all(descriptors.map(linkOf));
      return [
        {
          pid: Number(pid),
          command: (await read('cmdline')).replaceAll('\0', ' '),
          uid: Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]),
          listensOn: links.flatMap((link) => addresses.get(link) ?? []),
        },
      ];
    }),
  );
  return found.flat();
}

/** Returns the addresses of listening sockets by the link in their file descriptor. */
async function listeningAddresses(): Promise<ReadonlyMap<string, string>> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  const rows = tables.flatMap((table) => table.split('\n').slice(1)).map((line) => line.trim().split(/\s+/));
  return new Map(
    rows
      .filter(([, , , state]) => state === LISTENING)
      .map(([, local = '', , , , , , , , inode]) => [`socket:[${inode}]`, addressOf(local)]),
  );
}

/** @param local an address such as `0100007F:0BB8` */
function addressOf(local: string): string {
  const [address = '', port = ''] = local.split(':');
  const bytes = address.match(/../g)?.map((byte) => Number.parseInt(byte, 16)) ?? [];
  const host = bytes.length === 4 ? bytes.toReversed().join('.') : 'IPv6';
  return `${host}:${Number.parseInt(port, 16)}`;
}

// Listening addresses are read from `/proc`, which other systems do not have.
(process.platform === 'linux' ? test : test.skip).each<[string, Record<string, string>]>([
  ['127.0.0.1', {}],
  ['127.0.0.3', { HOST: '127.0.0.3' }],
])(
  'npm start listens on %s and otherwise on loopback only, prints each address, and runs nothing as root',
  async (apiHost, env) => {
    const { pid, output } = await start(env);
    const children = await childrenOf(pid);
    const services = children.filter(({ command }) => /services\/(api|checker|notifier)\/dist/.test(command));
    expect(services).toHaveLength(3);
    for (const { command, uid, listensOn } of children) {
      // The checker is also the gateway of agents.
      const isOpen = /services\/(api|checker)\//.test(command);
      const hosts = isOpen ? `${apiHost}|127.0.0.1` : '127.0.0.1';
      expect([command, uid === 0]).toEqual([command, false]);
      for (const address of listensOn) {
        expect(address).toMatch(new RegExp(`^(${hosts}):`));
        expect(output).toContain(address);
      }
    }
    expect(children.flatMap(({ listensOn }) => listensOn).length).toBeGreaterThanOrEqual(4);
    const [, url = ''] = /running at (\S+)/.exec(output) ?? [];
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect((await fetch(`${url}/`)).headers.get('content-type')).toMatch(/^text\/html/);
  },
);

// The stores are found among the children in `/proc`.
(process.platform === 'linux' ? test : test.skip)('npm start restarts stores that were killed', async () => {
  const target = await HttpTarget.start();
  const { pid, output } = await start({ EGRESS_ALLOW_CIDRS: '127.0.0.0/8' });
  const [, url = ''] = /running at (\S+)/.exec(output) ?? [];
  const [, key = ''] = /API key +(\S+)/.exec(output) ?? [];
  const post = async (path: string, body: object = {}): Promise<Response> =>
    fetch(`${url}/api/cli/monitors${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  const created = await post('', { name: 'Shop', url: target.url() });
  const { monitor } = (await created.json()) as { monitor: { id: string } };
  for (const store of [/\/postgres -D/, /redis-server|valkey-server/]) {
    const find = async (): Promise<Process[]> =>
      (await childrenOf(pid)).filter(({ command }) => store.test(command));
    const [killed] = await find();
    process.kill(killed?.pid ?? 0, 'SIGKILL');
    await until(`${store} to run again`, async () => {
      const [found] = await find();
      return found !== undefined && found.pid !== killed?.pid && found.listensOn.length > 0;
    });
    const [restarted] = await find();
    expect(restarted?.listensOn).toEqual(killed?.listensOn);
    // A check needs the api, both stores and the checker.
    await until('a check', async () => (await post(`/${monitor.id}/trigger`)).status === 200);
  }
  await target.stop();
});
