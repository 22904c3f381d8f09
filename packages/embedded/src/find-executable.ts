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
