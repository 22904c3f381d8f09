import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of the first of these programs that is in a folder of `searchPath`, the value of a PATH; null without any. */
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

/** The path of a Chromium or Chrome: what `CHROMIUM_PATH` says, else the one on the PATH, else null. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string | null {
  const { CHROMIUM_PATH: given, PATH: searchPath = '' } = env;
  if (given !== undefined && given !== '') return given;
  return findExecutable(NAMES, searchPath);
}
