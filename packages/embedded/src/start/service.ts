import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { EmbeddedError } from '../embedded-error.ts';
import type { Owner } from '../files.ts';
import { describeEnd, isAlive, whenEnded } from '../processes.ts';
import { Restarts } from './restarts.ts';

const MAX_LOG_BYTES = 50_000_000;

/** A log file that rotates to `<name>.1`. Writes lines synchronously, so that a crash loses no line. */
export class LogFile {
  readonly path: string;
  #descriptor: number;
  #bytes: number;

  constructor(path: string) {
    this.path = path;
    this.#descriptor = openSync(path, 'a', 0o600);
    this.#bytes = fstatSync(this.#descriptor).size;
  }

  write(line: string): void {
    if (this.#bytes > MAX_LOG_BYTES) this.#rotate();
    this.#bytes += writeSync(this.#descriptor, `${line}\n`);
  }

  #rotate(): void {
    closeSync(this.#descriptor);
    renameSync(this.path, `${this.path}.1`);
    this.#descriptor = openSync(this.path, 'a', 0o600);
    this.#bytes = 0;
  }
}

/** Formats a log line for the terminal. Returns null except for warnings, errors and lines that are not JSON. */
export function terminalLine(line: string): string | null {
  if (line.trim() === '') return null;
  const record = parse(line);
  if (record === null) return line;
  const { level, message } = record;
  if (level !== 'warn' && level !== 'error') return null;
  const { channelId } = record;
  const reason = [
    ...(typeof channelId === 'string' ? [`channel ${channelId}`] : []),
    ...errorMessages(record['error']),
  ];
  return `${level}: ${String(message)}${reason.length === 0 ? '' : ` (${reason.join(': ')})`}`;
}

function parse(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

/** The first line of an error, or nothing. */
function errorMessages(error: unknown): string[] {
  if (typeof error === 'string') return [error];
  if (typeof error !== 'object' || error === null || !('message' in error)) return [];
  const message = String(error.message).split('\n')[0] ?? '';
  return [message !== '' || !('code' in error) ? message : String(error.code)];
}

const READY_TIMEOUT_MS = 60_000;
/** Longer than the limit in `runService` (30 s). */
const STOP_TIMEOUT_MS = 35_000;
const STABLE_AFTER_MS = 60_000;
const MAX_BACKOFF_MS = 30_000;

export interface ServiceOptions {
  readonly name: string;
  readonly entry: string;
  readonly env: NodeJS.ProcessEnv;
  /** Defaults to the current Node.js. */
  readonly node?: string;
  /** Command that runs the process instead of `owner`, such as `ip netns exec …`. */
  readonly wrapper?: readonly string[] | undefined;
  /** User of the process. Defaults to the current user. */
  readonly owner?: Owner | undefined;
  readonly log: LogFile;
  readonly say: (line: string) => void;
  /** First pause before a restart, which doubles up to 30 s. Defaults to 1 s. */
  readonly backoffMs?: number;
  readonly onReady?: (ready: Readonly<Record<string, unknown>>) => void;
}

/**
 * A service as a child process. It has its own process group, so that Ctrl-C reaches only this process, and an IPC channel, so that it stops
 * if this process is killed. It is restarted after an unexpected exit.
 */
export class Service {
  readonly #options: ServiceOptions;
  #child: ChildProcess | undefined;
  #stopping = false;
  #restart: NodeJS.Timeout | undefined;
  readonly #restarts: Restarts;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.#restarts = new Restarts({
      firstPauseMs: options.backoffMs ?? 1000,
      maxPauseMs: MAX_BACKOFF_MS,
      stableAfterMs: STABLE_AFTER_MS,
    });
  }

  /** Resolves when the service is ready. @throws EmbeddedError if the service exits or takes over a minute */
  async start(): Promise<void> {
    const child = this.#spawn();
    const exit = once(child, 'exit').then(([code, signal]) => `${describeEnd(code, signal)} during startup`);
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<string>((resolve) => {
      timer = setTimeout(resolve, READY_TIMEOUT_MS, `was not ready after ${READY_TIMEOUT_MS / 1000} s`);
    });
    const failure = await Promise.race([this.#ready(child), exit, timeout]);
    clearTimeout(timer);
    if (this.#stopping) return;
    if (failure !== null)
      throw new EmbeddedError(`${this.#options.name} ${failure}. See ${this.#options.log.path}.`);
    void this.#watch(child);
  }

  /** Stops the service gracefully, or kills it after 35 s. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#restart);
    const child = this.#child;
    if (child === undefined || !isAlive(child)) return;
    const exit = once(child, 'exit');
    const timer = setTimeout(() => this.kill(), STOP_TIMEOUT_MS);
    // On Windows, a signal would kill the service. A closed channel stops it gracefully.
    if (process.platform === 'win32') child.disconnect();
    else child.kill('SIGTERM');
    await exit;
    clearTimeout(timer);
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  async #ready(child: ChildProcess): Promise<null> {
    return new Promise((resolve) => {
      child.on('message', (message: unknown) => {
        if (isReady(message)) resolve(null);
      });
    });
  }

  #spawn(): ChildProcess {
    const {
      entry,
      env,
      log,
      name,
      say,
      node = process.execPath,
      wrapper = [],
      owner,
      onReady,
    } = this.#options;
    const [file, ...args] = [...wrapper, node, entry];
    const child = spawn(file, args, {
      ...(wrapper.length === 0 && owner),
      // Another user may have no access to the working directory. The current user keeps it for relative paths in settings.
      ...(owner !== undefined && { cwd: dirname(entry) }),
      env,
      detached: process.platform !== 'win32',
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const output of [child.stdout, child.stderr]) {
      if (output === null) continue;
      createInterface({ input: output }).on('line', (line) => {
        log.write(line);
        const shown = terminalLine(line);
        if (shown !== null) say(`${name}: ${shown}`);
      });
    }
    child.on('message', (message: unknown) => {
      if (isReady(message)) onReady?.(message);
    });
    // `start` and `#watch` report a failed spawn.
    child.on('error', () => {});
    this.#child = child;
    return child;
  }

  async #watch(child: ChildProcess): Promise<void> {
    const startedAt = Date.now();
    const end = await whenEnded(child);
    if (this.#stopping) return;
    const pauseMs = this.#restarts.next(Date.now() - startedAt);
    const { name, say, log } = this.#options;
    say(`${name} ${end}. Restarting it in ${pauseMs / 1000} s (see ${log.path})`);
    this.#restart = setTimeout(() => void this.#watch(this.#spawn()), pauseMs);
  }
}

function isReady(message: unknown): message is Readonly<Record<string, unknown>> {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'ready';
}
