import { resolve } from 'node:path';
import { packCli } from './pack-cli.ts';

/**
 * `npm run -s pack:cli -- FOLDER`: prints the path of the npm package that it puts into the folder.
 * @public called by `bootstrap.js`
 */
export async function main([folder]: readonly string[]): Promise<void> {
  if (folder === undefined) {
    process.stderr.write('Usage: npm run -s pack:cli -- FOLDER\n');
    process.exitCode = 1;
    return;
  }
  process.stdout.write(`${await packCli(resolve(folder))}\n`);
}
