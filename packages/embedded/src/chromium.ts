import { findExecutable } from './find-executable.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The path of a Chromium or Chrome: what `CHROMIUM_PATH` says, else the one on the PATH, else null. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string | null {
  const { CHROMIUM_PATH: given, PATH: searchPath = '' } = env;
  if (given !== undefined && given !== '') return given;
  return findExecutable(NAMES, searchPath);
}
