import { onAbandoned } from '../dist/program/on-abandoned.js';
import { runTestServers } from '../dist/testing/run-servers.js';

/** Starts the servers that all tests share. `npm test` has already built this package. */
export default async function setup() {
  // When this process ends, its servers end too, and they end what the tests have started.
  onAbandoned(() => process.exit(1), { parent: true });
  const servers = await runTestServers();
  process.env.TEST_DATABASE_URL = servers.databaseUrl;
  process.env.TEST_REDIS_URL = servers.redisUrl;
  process.env.TEST_FOLDER = servers.folder;
  globalThis.tocsinTestServers = servers;
}
