import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of the first of these programs in the folders of `searchPath`, the value of a PATH; null if there is none. */
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

/** The path of Chromium or Chrome: `CHROMIUM_PATH`, or the one on the PATH; null if there is none. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string | null {
  const { CHROMIUM_PATH: given, PATH: searchPath = '' } = env;
  if (given !== undefined && given !== '') return given;
  return findExecutable(NAMES, searchPath);
}
