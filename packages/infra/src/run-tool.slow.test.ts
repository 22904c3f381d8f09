import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';
import { runTool, succeeds } from './run-tool.ts';

test('runTool passes the input and returns the output', async () => {
  expect(await runTool('sh', ['-c', 'cat; echo warning >&2'], { input: 'text' })).toEqual({
    stdout: 'text',
    stderr: 'warning\n',
  });
});

test('runTool rejects with the output of a program that fails', async () => {
  await expect(runTool('sh', ['-c', 'echo reason >&2; exit 3'])).rejects.toThrow(
    /^sh -c .* failed:\nreason$/,
  );
  await expect(runTool('sh', ['-c', 'exit 3'])).rejects.toThrow(/failed:\nexit code 3$/);
  await expect(runTool('no-such-program', [])).rejects.toThrow(/ENOENT/);
  expect(await succeeds('sh', ['-c', 'exit 3'])).toBe(false);
});

test('runTool ends a program that takes too long', async () => {
  await expect(runTool('sleep', ['60'], { timeoutSeconds: 0.1 })).rejects.toThrow('took more than 0.1 s');
});

test('runTool ends a canceled program with the processes that it started', async () => {
  const folder = await createTemporaryFolder();
  const file = join(folder.path, 'pid');
  const cancel = new AbortController();
  const running = runTool('sh', ['-c', `sleep 600 & echo $! > '${file}'; wait; true`], {
    signal: cancel.signal,
  });
  const settled = expect(running).rejects.toThrow('was canceled');
  const readPid = async (): Promise<number> => Number(await readFile(file, 'utf8').catch(() => ''));
  await until('the process to be started', async () => (await readPid()) > 0);
  cancel.abort();
  await settled;
  const pid = await readPid();
  // Until it is reaped, an ended process is still listed.
  await until('the process to be gone', async () => !/^State:\s+[^Z]/m.test(await stateOf(pid)));
  await folder.remove();
});

async function stateOf(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
}
