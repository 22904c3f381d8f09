import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startProgram } from '@tocsin/lab/started-program';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeAll(async () => {
  folder = await createTemporaryFolder();
});
afterAll(() => folder.remove());

/** The campaigns look for rare faults by chance, so they have commands of their own. */
test.each([
  ['networks/main', ['--help'], /--cuts N +cuts, of all regions together; 100 by default/],
  ['faults/main', ['--help'], /--restarts N +restarts each service this often/],
])('%s %j', async (program, args, stdout) => {
  const main = new URL(`../dist/${program}.js`, import.meta.url);
  const ended = await startProgram(main, args, folder.path).ended;
  expect(ended).toEqual({ code: 0, stdout: expect.stringMatching(stdout), stderr: '' });
});
