import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

const OWN = 'packages/cli/bin/tocsin.js';

/**
 * The path of `node_modules/.bin/tocsin` where another package has installed it: anybody may have published one under this name.
 * Uses Node alone, like `bootstrap.js`.
 * @param {string} root of the repository
 * @returns {string | undefined} undefined where the command is that of `packages/cli`, or absent
 */
export function findForeignCommand(root) {
  const file = join(root, 'node_modules', '.bin', 'tocsin');
  if (!existsSync(file)) return undefined;
  // npm makes a link, pnpm a script that names its target relative to itself.
  const isOwn = lstatSync(file).isSymbolicLink()
    ? realpathSync(file) === realpathSync(join(root, OWN))
    : readFileSync(file, 'utf8').includes(`../../${OWN}`);
  return isOwn ? undefined : file;
}
