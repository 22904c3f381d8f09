import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from './find-program.ts';
import { ROOT } from './repository.ts';

/** Whether promtool is here; in CI it has to be (`.ci/run` installs it). */
export function hasPromtool(): boolean {
  if (findProgram('promtool') !== null) return true;
  if (process.env['CI'] === undefined) return false;
  throw new Error('promtool is not on the PATH: install prometheus (apt-get install prometheus)');
}

/** Runs promtool in the root of the repository. @returns all that it said, and whether it was content */
export async function runPromtool(
  ...args: string[]
): Promise<{ readonly content: boolean; readonly said: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)('promtool', args, { cwd: ROOT });
    return { content: true, said: stdout + stderr };
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return { content: false, said: `${stdout}${stderr}` || String(error) };
  }
}
