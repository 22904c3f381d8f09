import { migrate } from '@tocsin/db/database/migrate';
import { EmbeddedError } from '../embedded-error.ts';
import { startTestServers } from './servers.ts';

/*
 * A process between the test run and its servers: it starts them, and stops them when the run ends in whatever way, also
 * killed, since then the channel between the two is closed.
 */

const gone = new Promise<void>((resolve) => process.once('disconnect', resolve));
// A Ctrl-C in the terminal reaches this process too: tests that still run need the servers until the run stops them.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {
  // Of a run that is gone they are being stopped already.
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
