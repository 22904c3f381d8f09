import { migrate } from '@tocsin/db/database/migrate';
import { EmbeddedError } from '../embedded-error.ts';
import { startTestServers } from './servers.ts';

/*
 * A process between the test run and its servers. It starts the servers, and stops them when the channel to the test run closes, which also
 * happens if the run is killed.
 */

const gone = new Promise<void>((resolve) => process.once('disconnect', resolve));
// Ctrl-C also reaches this process, but running tests need the servers until the run stops them.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {
  // After the run has ended, the servers are already stopping.
  if (process.connected) process.disconnect();
});

try {
  const { stop, ...urls } = await startTestServers(migrate);
  if (process.connected) process.send?.({ type: 'ready', ...urls });
  await gone;
  await stop();
} catch (error) {
  const message =
    error instanceof EmbeddedError ? error.message : error instanceof Error ? error.stack : error;
  if (process.connected) process.send?.({ type: 'failed', message: String(message) });
  process.exitCode = 1;
  if (process.connected) process.disconnect();
}
