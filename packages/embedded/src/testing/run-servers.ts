import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface RunningTestServers {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly folder: string;
  /** Resolves after the servers have stopped and their data is deleted. */
  readonly stop: () => Promise<void>;
}

/** Starts the servers of a test run, and sets the environment variables for the tests. */
export async function useTestServers(): Promise<RunningTestServers> {
  const servers = await runTestServers();
  process.env['TEST_DATABASE_URL'] = servers.databaseUrl;
  process.env['TEST_REDIS_URL'] = servers.redisUrl;
  process.env['TEST_FOLDER'] = servers.folder;
  return servers;
}

/** Starts the servers of a test run in a separate process, which outlives this one until it has stopped them. */
export async function runTestServers(): Promise<RunningTestServers> {
  const keeper = fork(fileURLToPath(new URL('keeper.js', import.meta.url)), [], {
    detached: true,
    execArgv: [],
    // NODE_OPTIONS is meant for the test run.
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const exit = once(keeper, 'exit');
  const first = await Promise.race([once(keeper, 'message'), exit.then(() => [undefined])]);
  const message: unknown = first[0];
  if (!isReady(message)) throw new Error(`The servers for the tests did not start: ${failure(message)}`);
  keeper.unref();
  keeper.channel?.unref();
  return {
    databaseUrl: message.databaseUrl,
    redisUrl: message.redisUrl,
    folder: message.folder,
    async stop() {
      keeper.ref();
      if (keeper.connected) keeper.disconnect();
      await exit;
    },
  };
}

function isReady(message: unknown): message is { databaseUrl: string; redisUrl: string; folder: string } {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'ready';
}

function failure(message: unknown): string {
  return typeof message === 'object' && message !== null && 'message' in message
    ? String(message.message)
    : 'their process ended';
}
