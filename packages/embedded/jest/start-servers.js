import { build } from '../build.js';

/** Builds the workspaces and starts the PostgreSQL and the Redis that all tests share, once for all projects of jest. */
export default async function setup() {
  globalThis.tocsinTestServers ??= await start();
}

async function start() {
  // Without servers of its own, a run uses those that these variables name.
  if (process.env.TEST_DATABASE_URL !== undefined) return { stop: () => undefined };
  build(say);
  const { onAbandoned } = await import('../dist/program/on-abandoned.js');
  const { ensureRedisForTests } = await import('../dist/test-run/programs.js');
  const { useTestServers } = await import('../dist/testing/run-servers.js');
  ensureRedisForTests(say);
  // When this process ends, its servers end too, and they end what the tests have started.
  onAbandoned(() => process.exit(1), { parent: true });
  return useTestServers();
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
