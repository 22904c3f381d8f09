import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';

const script = new URL('../../find-other-command.js', import.meta.url);
const { findOtherCommand } = (await import(script.href)) as {
  findOtherCommand: (root: string) => string | undefined;
};

test('accepts the command that the pinned pnpm has installed here', () => {
  expect(findOtherCommand(fileURLToPath(new URL('../../../../', import.meta.url)))).toBeUndefined();
});

test.each<[string, boolean, (command: string) => Promise<void>]>([
  ['nothing', false, async () => undefined],
  ['a link to this repository', false, (command) => symlink('../../packages/cli/bin/tocsin.js', command)],
  ['a link to another package', true, (command) => symlink('../tocsin/bin.js', command)],
  ['a script', true, (command) => writeFile(command, 'exec node "$basedir/../tocsin/bin.js" "$@"\n')],
])('reports a command of another package; installed: %s', async (_, isOther, install) => {
  const folder = await createTemporaryFolder();
  for (const path of ['node_modules/.bin', 'node_modules/tocsin', 'packages/cli/bin'])
    await mkdir(join(folder.path, path), { recursive: true });
  for (const path of ['node_modules/tocsin/bin.js', 'packages/cli/bin/tocsin.js'])
    await writeFile(join(folder.path, path), '');
  const command = join(folder.path, 'node_modules/.bin/tocsin');
  await install(command);
  expect(findOtherCommand(folder.path)).toBe(isOther ? command : undefined);
  await folder.remove();
});
