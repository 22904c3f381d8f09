import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runTool } from '@tocsin/distribution/run-tool';
import { ROOT } from '@tocsin/distribution/repository';
import { findFreePort } from '@tocsin/embedded/ports';
import { createTestDatabase } from '@tocsin/embedded/testing/database';
import { createTestRedis } from '@tocsin/embedded/testing/redis';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';

/** Folder over which an image's files are mounted. It must exist on every Linux. */
const APP = '/mnt';
/** Mounts an image's files, makes every file read-only except for an empty /tmp, and becomes a user without a name or a home folder. */
const ENTER = `mount --bind "$0" ${APP} && mount -o remount,bind,ro ${APP} && mount -o remount,bind,ro / && mount -t tmpfs tmpfs /tmp
cd ${APP} && exec setpriv --reuid 1000620000 --regid 0 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$@"`;

/** A kubeconfig for an API server that does not respond. */
const NO_CLUSTER = {
  'current-context': 'a',
  contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
  clusters: [{ name: 'a', cluster: { server: 'http://127.0.0.1:1' } }],
};

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let stores: Record<string, string>;
beforeAll(async () => {
  folder = await createTemporaryFolder();
  stores = {
    DATABASE_URL: (await createTestDatabase()).url,
    QUEUE_URL: (await createTestRedis()).url,
    SECRETS_KEY: Buffer.alloc(32).toString('base64'),
  };
});
afterAll(() => folder.remove());

/** Starts a program of an image. @param files name of the image with the files */
async function start(files: string, command: readonly string[], env: object): Promise<ChildProcess> {
  const tree = await mkdtemp(join(folder.path, files));
  await chmod(tree, 0o755);
  await runTool('sh', ['infra/images/assemble.sh', files, tree], { cwd: ROOT });
  await writeFile(join(tree, 'kubeconfig'), JSON.stringify(NO_CLUSTER));
  return spawn('unshare', ['--mount', 'sh', '-euc', ENTER, tree, process.execPath, ...command], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { NODE_ENV: 'production', LOG_LEVEL: 'error', ...env },
  });
}

// Mounts need root on Linux.
const describeAsRoot = process.platform === 'linux' && process.getuid?.() === 0 ? describe : describe.skip;

describeAsRoot('with a read-only root, without a home folder and as a user of OpenShift', () => {
  test('the database is migrated, and the CLI shows its help', async () => {
    for (const [files, command] of [
      ['api', ['dist/migrate/main.js']],
      ['cli', ['bin/tocsin.js', '--help']],
    ] as const) {
      const child = await start(files, command, stores);
      expect(await once(child, 'exit')).toEqual([0, null]);
    }
  });

  test.each(['api', 'checker', 'notifier', 'agent', 'operator'])('%s is healthy', async (service) => {
    const port = await findFreePort();
    const child = await start(service, ['dist/main.js'], {
      ...stores,
      PORT: String(port),
      HEALTH_PORT: String(port),
      DASHBOARD_DIR: join(APP, 'dashboard'),
      TOCSIN_URL: 'http://127.0.0.1:1',
      AGENT_TOKEN: `tocsin_agent_${'0'.repeat(48)}`,
      TOCSIN_API_KEY: `tocsin_live_${'0'.repeat(48)}`,
      CLUSTER_NAME: 'test',
      POD_NAMESPACE: 'test',
      KUBECONFIG: join(APP, 'kubeconfig'),
    });
    const exited = once(child, 'exit');
    await until(`${service} to be healthy`, async () => {
      expect(child.exitCode).toBeNull();
      const url = `http://127.0.0.1:${port}/healthz`;
      return (await fetch(url).catch(() => null))?.status === 200;
    });
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});
