/* A service that behaves as its argument says. `src/service.slow.test.ts` runs it. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { SettingsError } from '../dist/env.js';
import { runService } from '../dist/service.js';
import { runTraceExport } from '../dist/tracing.js';

const behavior = process.argv[2];

await runService('harness', async (logger) => {
  if (behavior === 'settings') throw new SettingsError('PORT must be right');
  if (behavior === 'fail') throw new Error('no store');
  logger.info('starting');
  if (behavior === 'slow-start') await once(process, 'SIGTERM');
  const work = setInterval(() => {}, 1000);
  if (behavior === 'throw') setImmediate(() => raise('oh no'));
  if (behavior === 'reject') void Promise.reject(new Error('oh no'));
  if (behavior === 'export-throws') runTraceExport(() => setImmediate(() => raise('oh no')));
  if (behavior === 'export-rejects') runTraceExport(() => void Promise.reject(new Error('oh no')));
  return {
    ready: { port: 4242 },
    async stop() {
      logger.info('stop called');
      await sleep(20);
      clearInterval(work);
      if (behavior === 'stop-fails') throw new Error('stuck');
    },
  };
});

function raise(message) {
  throw new Error(message);
}
