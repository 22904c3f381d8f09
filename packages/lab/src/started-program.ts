import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** A program from the repository that a test has started. */
export interface StartedProgram {
  readonly child: ChildProcess;
  /** Resolves when the output contains this text, or the program has ended. */
  readonly printed: (text: string) => Promise<void>;
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

/**
 * Starts a program as a separate process, with only PATH, DATA_DIR and the given variables in its environment.
 * @param main URL of the built module that exports `main`
 */
export function startProgram(
  main: URL,
  args: readonly string[],
  dataDir: string,
  env: NodeJS.ProcessEnv = {},
): StartedProgram {
  const script = `import(${JSON.stringify(main.href)}).then(({ main }) => main(process.argv.slice(1)))`;
  const child = spawn(process.execPath, ['-e', script, '--', ...args], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  child.stdout.on('data', (chunk) => (stdout += String(chunk)));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr }));
  const printed = async (text: string): Promise<void> => {
    while (!stdout.includes(text) && child.exitCode === null && child.signalCode === null) {
      await Promise.race([once(child.stdout, 'data'), ended]);
    }
  };
  return { child, printed, ended };
}
