import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The path of a program on the PATH, else null. */
export function findProgram(name: string, searchPath = process.env['PATH'] ?? ''): string | null {
  for (const folder of searchPath.split(delimiter)) {
    if (folder === '') continue;
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Not here.
    }
  }
  return null;
}
