import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

const OWN = 'packages/cli/bin/tocsin.js';

/**
 * The path of `node_modules/.bin/tocsin` if another package has installed it: anyone can publish a package with this command.
 * Uses only Node, like `bootstrap.js`.
 * @param {string} root of the repository
 * @returns {string | undefined} undefined if the command is the one of `packages/cli`, or missing
 */
export function findOtherCommand(root) {
  const file = join(root, 'node_modules', '.bin', 'tocsin');
  if (!existsSync(file)) return undefined;
  // npm creates a link, pnpm a script with a path relative to itself.
  const isOwn = lstatSync(file).isSymbolicLink()
    ? realpathSync(file) === realpathSync(join(root, OWN))
    : readFileSync(file, 'utf8').includes(`../../${OWN}`);
  return isOwn ? undefined : file;
}
