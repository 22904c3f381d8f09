import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startProgram } from '@tocsin/lab/started-program';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeAll(async () => {
  folder = await createTemporaryFolder();
});
afterAll(() => folder.remove());

/** The campaigns themselves look for rare faults by chance: they have commands of their own. */
test.each([
  ['main', ['--help'], 0, /--print-schedule/, ''],
  ['main', ['--seed', '3', '--print-schedule'], 0, /kill-notifier-after-send +notifier-[12]/, ''],
  ['main', ['--seed', 'x'], 1, /^$/, '--seed must be a whole number from 1 to 2147483648, not "x"\n'],
  ['main', ['more'], 1, /^$/, "Unexpected argument 'more'\n"],
  ['networks/main', ['--help'], 0, /--cuts N +cuts, of all regions together; 100 by default/, ''],
  ['soak/main', ['--help'], 0, /--minutes N +duration; 30 by default/, ''],
  ['soak/main', ['--minutes', 'x'], 1, /^$/, expect.stringMatching(/^--minutes must be a number/)],
])('%s %j', async (program, args, code, stdout, stderr) => {
  const dataDir = join(folder.path, 'data');
  await mkdir(dataDir, { recursive: true });
  const main = new URL(`../dist/${program}.js`, import.meta.url);
  const ended = await startProgram(main, args, dataDir).ended;
  expect(ended).toEqual({ code, stdout: expect.stringMatching(stdout), stderr });
});
