/* Something that starts and stops as it is told; run by `src/start/stop.test.ts`. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { handleStop } from '../dist/start/stop.js';

const say = (line) => process.stdout.write(`${line}\n`);
const behaviour = process.argv[2];
const stop = handleStop(say);
const work = setInterval(() => {
  if (behaviour === 'writes') say('working');
}, 100);
stop.onStop(async () => say('database stopped'));
stop.onStop(async () => {
  await sleep(50);
  clearInterval(work);
  say('services stopped');
});
say('starting');
try {
  if (behaviour === 'slow') await once(process, 'SIGTERM');
  stop.check();
  say('running');
} catch {
  say('start was left early');
}
stop.started();
