import { spawn } from 'node:child_process';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { findExecutable } from '@tocsin/embedded/executables';

export function isOnPath(program: string): boolean {
  return findExecutable([program], process.env['PATH'] ?? '') !== null;
}

/** The end of the output, so that an error stays readable. */
const SHOWN_LINES = 40;
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

/** A program failed, could not be started, was cancelled, or took too long. */
class ToolError extends EmbeddedError {}

/** Runs a program. Settles when it has ended. @throws ToolError with the end of its output */
export function runTool(
  file: string,
  args: readonly string[],
  { input = '', timeoutSeconds = 600, signal, ...options }: ToolOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve, reject) => {
    // A process group of its own, so that signals also reach what the program starts.
    const detached = signal !== undefined;
    const child = spawn(file, args, { ...options, detached, stdio: 'pipe' });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    // A program that ends without reading its input closes it.
    child.stdin.on('error', () => undefined).end(input);

    const timeout = AbortSignal.timeout(timeoutSeconds * 1_000);
    const stop = AbortSignal.any([timeout, ...(signal ? [signal] : [])]);
    const kill = (name: NodeJS.Signals): void => {
      try {
        if (child.pid !== undefined) process.kill(detached ? -child.pid : child.pid, name);
      } catch {
        // It has already ended.
      }
    };
    let killing: NodeJS.Timeout | undefined;
    const end = (): void => {
      kill('SIGTERM');
      killing = setTimeout(kill, END_WITHIN_MS, 'SIGKILL');
    };
    if (stop.aborted) end();
    else stop.addEventListener('abort', end);

    let cause: Error | undefined;
    child.on('error', (error) => (cause = error));
    child.on('close', (code) => {
      stop.removeEventListener('abort', end);
      clearTimeout(killing);
      if (code === 0 && !stop.aborted) return resolve({ stdout, stderr });
      const output = `${stderr}${stdout}`.trim().split('\n').slice(-SHOWN_LINES).join('\n');
      const command = [file, ...args].join(' ').slice(0, 200);
      const cancelled = timeout.aborted ? `took more than ${timeoutSeconds} s` : 'was cancelled';
      const detail = output || String(cause ?? `exit code ${code ?? 'none'}`);
      reject(new ToolError(`${command} ${stop.aborted ? cancelled : 'failed'}:\n${detail}`, { cause }));
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
