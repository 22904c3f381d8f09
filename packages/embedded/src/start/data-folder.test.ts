import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { lockDataFolder } from './data-folder.ts';

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeEach(async () => {
  folder = await createTemporaryFolder();
});
afterEach(() => folder.remove());

describe('lockDataFolder', () => {
  it('can be acquired again after a release, and after its holder was killed', async () => {
    const path = join(folder.path, 'new', 'data');
    const first = await lockDataFolder(path);
    await first.release();
    const killed = spawn(process.execPath, ['-e', '']);
    await once(killed, 'exit');
    await writeFile(join(path, 'lock'), `${killed.pid}\n`);
    await expect(lockDataFolder(path)).resolves.toMatchObject({ path });
  });

  it('fails while another start runs, but not if another program has its old process ID', async () => {
    // Only the command line distinguishes the two.
    const wait = ['-e', 'setInterval(() => {}, 1000)'];
    const other = spawn(process.execPath, [...wait, 'packages/embedded/bootstrap.js', 'start']);
    const stranger = spawn(process.execPath, wait);
    try {
      await Promise.all([once(other, 'spawn'), once(stranger, 'spawn')]);
      await writeFile(join(folder.path, 'lock'), `${other.pid}\n`);
      await expect(lockDataFolder(folder.path)).rejects.toThrow(
        `Tocsin is already running (process ${other.pid}) with the data in ${folder.path}. Stop it, or set DATA_DIR to another folder.`,
      );
      await writeFile(join(folder.path, 'lock'), `${stranger.pid}\n`);
      await lockDataFolder(folder.path);
    } finally {
      other.kill('SIGKILL');
      stranger.kill('SIGKILL');
    }
  });

  it('names the folder if it is unusable', async () => {
    await writeFile(join(folder.path, 'file'), '');
    await expect(lockDataFolder(join(folder.path, 'file', 'data'))).rejects.toThrow(
      /^The data folder .* cannot be used \(ENOTDIR\)[^\n]*$/,
    );
  });
});
