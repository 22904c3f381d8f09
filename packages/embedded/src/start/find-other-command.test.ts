import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';

const script = new URL('../../find-other-command.js', import.meta.url);
const { findOtherCommand } = (await import(script.href)) as {
  findOtherCommand: (root: string) => string | undefined;
};

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let command: string;
beforeEach(async () => {
  folder = await createTemporaryFolder();
  command = join(folder.path, 'node_modules/.bin/tocsin');
  await write('node_modules/.bin/other', '');
  await write('packages/cli/bin/tocsin.js', '');
  await write('node_modules/tocsin/bin.js', '');
});
afterEach(() => folder.remove());

async function write(path: string, text: string): Promise<void> {
  const file = join(folder.path, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

it('accepts the command that the pinned pnpm has installed here', () => {
  expect(findOtherCommand(fileURLToPath(new URL('../../../../', import.meta.url)))).toBeUndefined();
});

it('accepts a link to the command of this repository, and a missing one', async () => {
  expect(findOtherCommand(folder.path)).toBeUndefined();
  await symlink('../../packages/cli/bin/tocsin.js', command);
  expect(findOtherCommand(folder.path)).toBeUndefined();
});

it('reports a link to another package', async () => {
  await symlink('../tocsin/bin.js', command);
  expect(findOtherCommand(folder.path)).toBe(command);
});

it('reports a script that runs another package', async () => {
  await writeFile(command, '#!/bin/sh\nexec node "$basedir/../tocsin/bin.js" "$@"\n');
  expect(findOtherCommand(folder.path)).toBe(command);
});
