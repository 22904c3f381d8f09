import { access, constants, open, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCode } from '@tocsin/runtime/error-code';
import { EmbeddedError } from '../embedded-error.ts';
import { commandLine, isRunning } from '../processes.ts';
import { makeFolder } from '../server-folder.ts';

export interface DataFolder {
  readonly path: string;
  readonly release: () => Promise<void>;
}

/** Creates the folder and locks it against a second `npm start`. @throws EmbeddedError */
export async function lockDataFolder(requestedPath: string): Promise<DataFolder> {
  const path = resolve(requestedPath);
  try {
    await makeFolder(join(path, 'logs'));
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    const lockFile = join(path, 'lock');
    const release = async (): Promise<void> => rm(lockFile, { force: true });
    if (await createLock(lockFile)) return { path, release };
    const holder = Number.parseInt(await readFile(lockFile, 'utf8'), 10);
    if (isStart(holder)) {
      throw new EmbeddedError(
        `Tocsin is already running (process ${holder}) with the data in ${path}. Stop it, or set DATA_DIR to another folder.`,
      );
    }
    // The holder was killed.
    await release();
    if (await createLock(lockFile)) return { path, release };
    throw new EmbeddedError(`Another npm start is using the data in ${path}. Try again.`);
  } catch (error) {
    if (error instanceof EmbeddedError) throw error;
    throw new EmbeddedError(
      `The data folder ${path} cannot be used (${errorCode(error) ?? String(error)}). Make it readable and writable, or set DATA_DIR to another folder.`,
      { cause: error },
    );
  }
}

async function createLock(lockFile: string): Promise<boolean> {
  try {
    const file = await open(lockFile, 'wx', 0o644);
    await file.writeFile(`${process.pid}\n`);
    await file.close();
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Excludes other programs that now have the process ID of a killed `npm start`. */
function isStart(pid: number): boolean {
  if (!(pid > 0) || pid === process.pid || !isRunning(pid)) return false;
  const command = commandLine(pid);
  return command === '' || /bootstrap\.js start/.test(command);
}
