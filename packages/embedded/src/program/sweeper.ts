import { sweep } from './sweep.ts';

/*
 * A process that outlives a program by seconds: when the program dies without cleaning up, even by SIGKILL, the channel between
 * the two closes, and everything that the program started in its folder ends. `openFolder` starts it.
 */

const [folder] = process.argv.slice(2);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.once('message', () => process.exit(0));
process.once('disconnect', () => {
  if (folder === undefined) process.exit(1);
  void sweep(folder).finally(() => process.exit(0));
});
process.send?.('ready');
