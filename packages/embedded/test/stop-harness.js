/* A program that behaves as its argument says. `src/start/stop.test.ts` runs it. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { handleStop } from '../dist/start/stop.js';

const print = (line) => process.stdout.write(`${line}\n`);
const behavior = process.argv[2];
const stop = handleStop(print);
const work = setInterval(() => {
  if (behavior === 'writes') print('working');
}, 100);
stop.onStop(async () => print('database stopped'));
stop.onStop(async () => {
  await sleep(50);
  clearInterval(work);
  print('services stopped');
});
print('starting');
try {
  if (behavior === 'slow') await once(process, 'SIGTERM');
  stop.signal.throwIfAborted();
  print('running');
} catch {
  print('start was left early');
}
stop.started();
