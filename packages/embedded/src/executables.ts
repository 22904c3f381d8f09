import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Finds the first of several programs on a PATH. Returns null if there is none. */
export function findExecutable(names: readonly string[], searchPath: string): string | null {
  const extension = process.platform === 'win32' ? '.exe' : '';
  for (const name of names) {
    for (const folder of searchPath.split(delimiter)) {
      const file = join(folder, name + extension);
      if (folder !== '' && isExecutable(file)) return file;
    }
  }
  return null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Finds Chromium or Chrome by `CHROMIUM_PATH` or on the PATH. Returns null if there is none. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string | null {
  const { CHROMIUM_PATH: given, PATH: searchPath = '' } = env;
  if (given !== undefined && given !== '') return given;
  return findExecutable(NAMES, searchPath);
}
