import { sweep } from './sweep.ts';

/*
 * A process that outlives a program by seconds. When the program ends, even by SIGKILL, the channel closes, and this process stops everything
 * that the program left behind. `openFolder` starts it.
 */

const [folder] = process.argv.slice(2);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.once('disconnect', () => {
  if (folder === undefined) process.exit(1);
  sweep(folder).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`Cleanup of ${folder} failed: ${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.send?.('ready');
