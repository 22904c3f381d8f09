import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Owner } from '../files.ts';
import { LocalServer } from '../local-web/local-server.ts';
import { isRoot } from '../server-folder.ts';
import { type LaunchedSystem, LOOPBACK } from '../start/launch.ts';
import type { DemoApi } from './demo-api.ts';

const run = promisify(execFile);

export const BRANCH_OFFICE = 'branch-office';
const NAMESPACE = 'tocsin-demo';
const HOST = '10.213.213.1';
const AGENT = '10.213.213.2';

export interface BranchNetwork {
  /** Address of this machine in the branch network. */
  readonly host: string;
  /** True for a network namespace, false for the loopback interface of this machine. */
  readonly isSeparate: boolean;
  readonly remove: () => Promise<void>;
}

/** Creates a network namespace that reaches only this machine. If that fails, returns the loopback interface. */
export async function createBranchNetwork(): Promise<BranchNetwork> {
  if (process.platform === 'linux' && isRoot()) {
    // A killed demo may have left the namespace behind.
    await remove();
    try {
      await ip('netns', 'add', NAMESPACE);
      await ip('link', 'add', NAMESPACE, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', NAMESPACE);
      await ip('address', 'add', `${HOST}/30`, 'dev', NAMESPACE);
      await ip('link', 'set', NAMESPACE, 'up');
      await ip('-n', NAMESPACE, 'address', 'add', `${AGENT}/30`, 'dev', 'eth0');
      for (const device of ['lo', 'eth0']) await ip('-n', NAMESPACE, 'link', 'set', device, 'up');
      await run('setpriv', ['--version']);
      await checkReachable();
      return { host: HOST, isSeparate: true, remove };
    } catch {
      await remove();
    }
  }
  return { host: LOOPBACK, isSeparate: false, remove: async () => undefined };
}

/** Rejects if a firewall of this machine drops connections from the namespace. */
async function checkReachable(): Promise<void> {
  const server = await LocalServer.start((_, response) => void response.end(), { addresses: [HOST] });
  const script = 'fetch(process.argv[1]).catch(() => process.exit(1))';
  const command = ['netns', 'exec', NAMESPACE, process.execPath, '-e', script, server.url('/', HOST)];
  try {
    await run('ip', command, { timeout: 3_000 });
  } finally {
    await server.stop();
  }
}

/** Creates the region, and starts its agent in the network. */
export async function startBranchOffice(
  api: DemoApi,
  { host, isSeparate }: BranchNetwork,
  gatewayPort: number,
  { owner, startAgent }: LaunchedSystem,
): Promise<void> {
  await api('POST /api/cli/regions', { body: { code: BRANCH_OFFICE, name: 'Branch office' } });
  const { token } = await api('POST /api/cli/regions/:code/agent-tokens', {
    path: { code: BRANCH_OFFICE },
    body: { name: 'Demo' },
  });
  await startAgent(
    {
      PATH: process.env['PATH'],
      LOG_FORMAT: 'json',
      HEALTH_PORT: '0',
      HEALTH_HOST: LOOPBACK,
      TOCSIN_URL: `http://${host}:${gatewayPort}`,
      AGENT_TOKEN: token,
      EGRESS_ALLOW_CIDRS: `${host}/32`,
    },
    isSeparate ? ['ip', 'netns', 'exec', NAMESPACE, ...asUser(owner)] : undefined,
  );
}

/** Only root can enter the namespace, so the command changes the user afterwards. */
function asUser(owner: Owner | undefined): readonly string[] {
  if (owner === undefined) return [];
  return ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
}

async function remove(): Promise<void> {
  // This also deletes the interfaces of the namespace.
  await ip('netns', 'delete', NAMESPACE).catch(() => undefined);
}

async function ip(...args: string[]): Promise<void> {
  await run('ip', args);
}
