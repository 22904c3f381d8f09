import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { findExecutable } from '@tocsin/embedded/executables';

export function isOnPath(program: string): boolean {
  return findExecutable([program], process.env['PATH'] ?? '') !== null;
}

/** Lines of the output that an error quotes. */
const QUOTED_LINES = 40;
const END_WITHIN_MS = 10_000;

export interface ToolOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** The content of stdin. */
  readonly input?: string;
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

/** A program failed, could not start, was canceled, or took too long. */
export class ToolError extends EmbeddedError {}

/**
 * Runs a program, and waits for its end. The signal and the timeout end the program with every process that it started.
 * @throws ToolError with the end of the output
 */
export async function runTool(
  file: string,
  args: readonly string[],
  { input = '', timeoutSeconds = 600, signal, ...options }: ToolOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  // A separate process group, so that signals also reach the processes that the program starts.
  const child = spawn(file, args, { ...options, detached: true, stdio: 'pipe' });
  const ended = once(child, 'close').then(
    ([code]) => (code === 0 ? null : `exit code ${code ?? 'none'}`),
    (error: unknown) => String(error),
  );
  // A program may end without reading its input.
  child.stdin.on('error', () => undefined).end(input);

  const timeout = AbortSignal.timeout(timeoutSeconds * 1_000);
  const stop = AbortSignal.any([timeout, ...(signal ? [signal] : [])]);
  let killing: NodeJS.Timeout | undefined;
  const end = (): void => {
    killGroup(child.pid, 'SIGTERM');
    killing = setTimeout(killGroup, END_WITHIN_MS, child.pid, 'SIGKILL');
  };
  if (stop.aborted) end();
  else stop.addEventListener('abort', end);
  const [stdout, stderr, failure] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  stop.removeEventListener('abort', end);
  clearTimeout(killing);

  if (failure === null && !stop.aborted) return { stdout, stderr };
  const output = `${stderr}${stdout}`.trim().split('\n').slice(-QUOTED_LINES).join('\n');
  const command = [file, ...args].join(' ').slice(0, 200);
  const canceled = timeout.aborted ? `took more than ${timeoutSeconds} s` : 'was canceled';
  throw new ToolError(`${command} ${stop.aborted ? canceled : 'failed'}:\n${output || failure}`);
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // It has already ended.
  }
}
