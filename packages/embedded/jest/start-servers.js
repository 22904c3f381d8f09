import { build } from '../build.js';

/** Builds the workspaces, and starts the PostgreSQL and Redis that all jest projects share. */
export default async function setup() {
  globalThis.tocsinTestServers ??= await start();
}

async function start() {
  // A test run can use existing servers.
  if (process.env.TEST_DATABASE_URL !== undefined) return { stop: () => undefined };
  build(say);
  const { onAbandoned } = await import('../dist/program/on-abandoned.js');
  const { ensureRedisForTests } = await import('../dist/test-run/programs.js');
  const { useTestServers } = await import('../dist/testing/run-servers.js');
  ensureRedisForTests(say);
  // When this process ends, its servers end and stop everything that tests have started.
  onAbandoned(() => process.exit(1), { parent: true });
  return useTestServers();
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
