import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PARENT = fileURLToPath(new URL('../../test/server-parent.js', import.meta.url));

/** Starts a server and kills its parent, so that the server runs on without a parent. */
export async function abandonServer(
  kind: 'postgres' | 'redis',
  dataDir: string,
): Promise<{ url: string; pid: number }> {
  const parent = fork(PARENT, [kind, dataDir], { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' } });
  const exit = once(parent, 'exit');
  const [message] = await Promise.race([once(parent, 'message'), exit]);
  parent.kill('SIGKILL');
  await exit;
  return message as { url: string; pid: number };
}
