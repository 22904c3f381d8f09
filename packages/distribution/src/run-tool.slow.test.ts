import { expect, test } from '@jest/globals';
import { runTool } from './run-tool.ts';

test('runTool rejects with the output of a program that fails', async () => {
  await expect(runTool('sh', ['-c', 'echo reason >&2; exit 3'])).rejects.toThrow(
    /^sh -c .* failed:\nreason$/,
  );
  await expect(runTool('sh', ['-c', 'exit 3'])).rejects.toThrow(/failed:\nexit code 3$/);
  await expect(runTool('no-such-program', [])).rejects.toThrow(/ENOENT/);
});
