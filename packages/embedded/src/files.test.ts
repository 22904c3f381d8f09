import { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { replaceFile } from './files.ts';
import { keepSecret } from './server-folder.ts';
import { createTemporaryFolder } from './testing/temporary-folder.ts';

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let target: string;
let link: string;
beforeEach(async () => {
  folder = await createTemporaryFolder();
  target = join(folder.path, 'target');
  link = join(folder.path, 'link');
  await writeFile(target, 'stays');
  await symlink(target, link);
});
afterEach(() => folder.remove());

it('replaces a symbolic link and leaves its target unchanged', async () => {
  await replaceFile(link, 'new', { mode: 0o400 });
  expect([await readFile(link, 'utf8'), await readFile(target, 'utf8')]).toEqual(['new', 'stays']);
  expect((await stat(link)).mode & 0o777).toBe(0o400);
  await replaceFile(link, 'newer', { mode: 0o600 });
  expect(await readFile(link, 'utf8')).toBe('newer');
  expect((await readdir(folder.path)).toSorted()).toEqual(['link', 'target']);
});

// Windows cannot open a file without following symbolic links.
(process.platform === 'win32' ? it.skip : it)('a secret is not read through a symbolic link', async () => {
  await expect(keepSecret(link)).rejects.toThrow('ELOOP');
});
