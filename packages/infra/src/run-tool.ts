import { spawn } from 'node:child_process';
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

/** Of the output of a program that failed, so that an error stays readable. */
const SHOWN_LINES = 40;
/** From SIGTERM to SIGKILL. */
const END_WITHIN_MS = 10_000;

export interface ToolOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** For stdin. */
  readonly input?: string;
  readonly timeoutSeconds?: number;
  /** Ends the program and every process that it started. */
  readonly signal?: AbortSignal;
}

/** A program failed, could not be started, was cancelled, or took too long. The message has the end of its output. */
class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** Runs a program. Resolves, or rejects, when it has ended. Returns what it wrote. @throws ToolError */
export function runTool(
  file: string,
  args: readonly string[],
  { input = '', timeoutSeconds = 600, signal, ...options }: ToolOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve, reject) => {
    // A process group of its own, so that a signal reaches what it starts, too.
    const detached = signal !== undefined;
    const child = spawn(file, args, { ...options, detached, stdio: 'pipe' });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    // A program that ends without reading its input closes it.
    child.stdin.on('error', () => undefined).end(input);

    let ended: string | null = null;
    let killing: NodeJS.Timeout | undefined;
    const end = (reason: string): void => {
      ended ??= reason;
      kill('SIGTERM');
      killing ??= setTimeout(kill, END_WITHIN_MS, 'SIGKILL');
    };
    const kill = (name: NodeJS.Signals): void => {
      if (child.pid === undefined) return;
      try {
        process.kill(detached ? -child.pid : child.pid, name);
      } catch {
        // It has just ended.
      }
    };
    const cancel = (): void => end('was cancelled');
    const timer = setTimeout(() => end(`took more than ${timeoutSeconds} s`), timeoutSeconds * 1_000);
    signal?.addEventListener('abort', cancel);
    if (signal?.aborted === true) cancel();

    let startError: Error | null = null;
    child.on('error', (error) => (startError = error));
    child.on('close', (code) => {
      clearTimeout(timer);
      clearTimeout(killing);
      signal?.removeEventListener('abort', cancel);
      if (code === 0 && ended === null) return resolve({ stdout, stderr });
      const output = `${stderr}${stdout}`.trim().split('\n').slice(-SHOWN_LINES).join('\n');
      const command = [file, ...args].join(' ').slice(0, 200);
      const cause = startError ?? undefined;
      const detail = output || String(cause ?? `exit code ${code ?? 'none'}`);
      reject(new ToolError(`${command} ${ended ?? 'failed'}:\n${detail}`, { cause }));
    });
  });
}

/** Whether a program can be run and exits with 0. */
export async function succeeds(
  file: string,
  args: readonly string[],
  options?: ToolOptions,
): Promise<boolean> {
  return runTool(file, args, options).then(
    () => true,
    () => false,
  );
}
