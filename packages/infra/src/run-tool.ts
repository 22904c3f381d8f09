import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
/** Of the output of a program that failed, so that an error stays readable. */
const SHOWN_LINES = 40;

export interface ToolOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** For stdin. */
  readonly input?: string;
  readonly timeoutSeconds?: number;
  /** Ends the program by SIGTERM. */
  readonly signal?: AbortSignal;
}

/** A program failed, could not be started, or took too long. The message has the end of its output. */
class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** Runs a program. Returns what it wrote to stdout and stderr. @throws ToolError */
export async function runTool(
  file: string,
  args: readonly string[],
  { input = '', timeoutSeconds = 600, ...options }: ToolOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const running = promisify(execFile)(file, args, {
    ...options,
    timeout: timeoutSeconds * 1_000,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  // A program that ends without reading its input closes it.
  running.child.stdin?.on('error', () => undefined).end(input);
  try {
    return await running;
  } catch (error) {
    const {
      stdout = '',
      stderr = '',
      killed,
    } = error as { stdout?: string; stderr?: string; killed?: boolean };
    const output = `${stderr}${stdout}`.trim().split('\n').slice(-SHOWN_LINES).join('\n');
    const command = [file, ...args].join(' ').slice(0, 200);
    const reason = killed === true ? `took more than ${timeoutSeconds} s` : 'failed';
    throw new ToolError(`${command} ${reason}:\n${output || String(error)}`, { cause: error });
  }
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
