import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

const OWN = 'packages/cli/bin/tocsin.js';

/**
 * Returns the path of `node_modules/.bin/tocsin` if another package has installed it. Anyone can publish a package with this command. Uses
 * only Node.js, like `bootstrap.js`.
 * @param {string} root root of the repository
 * @returns {string | undefined} undefined if the command is missing or belongs to `packages/cli`
 */
export function findOtherCommand(root) {
  const file = join(root, 'node_modules', '.bin', 'tocsin');
  if (!existsSync(file)) return undefined;
  // npm creates a link, pnpm a script with a relative path.
  const isOwn = lstatSync(file).isSymbolicLink()
    ? realpathSync(file) === realpathSync(join(root, OWN))
    : readFileSync(file, 'utf8').includes(`../../${OWN}`);
  return isOwn ? undefined : file;
}
