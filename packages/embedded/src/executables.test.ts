import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { findChromium } from './executables.ts';
import { createTemporaryFolder } from './testing/temporary-folder.ts';

test('findChromium returns CHROMIUM_PATH, else a program on the PATH, else null', async () => {
  const folder = await createTemporaryFolder();
  const program = join(folder.path, 'chromium-browser');
  const env = { PATH: `/nowhere:${folder.path}` };
  await writeFile(program, '');
  await chmod(program, 0o644);
  expect(findChromium(env)).toBeNull();
  await chmod(program, 0o755);
  expect(findChromium(env)).toBe(program);
  expect(findChromium({ ...env, CHROMIUM_PATH: '' })).toBe(program);
  expect(findChromium({ ...env, CHROMIUM_PATH: '/opt/chrome' })).toBe('/opt/chrome');
  await folder.remove();
});
