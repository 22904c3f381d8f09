import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** An error quotes this much of the output, because the log is removed with the system. */
const QUOTED_CHARACTERS = 4_000;
const RESPONSE_WITHIN_MS = 10_000;

export type ServiceName = 'api' | 'checker' | 'notifier';
export type ProgramName = ServiceName | 'agent';
export const SERVICE_NAMES: readonly ServiceName[] = ['api', 'checker', 'notifier'];

export interface ServiceProcessOptions {
  /** Options of Node.js, such as `--cpu-prof`. */
  readonly nodeOptions?: readonly string[];
  /** A program with its arguments that replaces itself by Node.js, such as `ip netns exec`. */
  readonly launcher?: readonly [program: string, ...args: string[]];
}

/** A service as a separate process, which can be killed and restarted. */
export class ServiceProcess {
  readonly name: ProgramName;
  /** Receives the output of all starts. Removed with the system. */
  readonly logFile: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #options: ServiceProcessOptions;
  #child: ChildProcess | undefined;
  #ready: Record<string, unknown> = {};

  constructor(
    name: ProgramName,
    env: NodeJS.ProcessEnv,
    logFile: string,
    options: ServiceProcessOptions = {},
  ) {
    this.name = name;
    this.logFile = logFile;
    this.#env = env;
    this.#options = options;
  }

  /** Port of the API, or 0 before the first start. */
  get port(): number {
    return Number(this.#ready['port'] ?? 0);
  }

  /** Port of the health endpoints, or 0 before the first start. */
  get healthPort(): number {
    return Number(this.#ready['healthPort'] ?? this.port);
  }

  /** Port of the gateway, or 0 if the service is none. */
  get agentPort(): number {
    return Number(this.#ready['agentPort'] ?? 0);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  async metrics(): Promise<string> {
    return (await this.get('/metrics')).text();
  }

  async isReady(): Promise<boolean> {
    return (await this.get('/readyz')).ok;
  }

  /** Requests a health endpoint. @throws Error without a response within 10 s */
  get(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.healthPort}${path}`, {
      signal: AbortSignal.timeout(RESPONSE_WITHIN_MS),
    });
  }

  /** Resolves when the last started process has ended, or at once if there is none. */
  async ended(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const child = this.#child;
    if (!child) return { code: null, signal: null };
    if (this.isRunning) await once(child, 'exit');
    return { code: child.exitCode, signal: child.signalCode };
  }

  /** Resolves with the service's message when it is ready. @throws Error if it ends before that */
  async start(): Promise<Record<string, unknown>> {
    const entry = fileURLToPath(new URL(`../../../services/${this.name}/dist/main.js`, import.meta.url));
    const { nodeOptions = [], launcher = [] } = this.#options;
    const [execPath, ...execArgv] = [...launcher, process.execPath, ...nodeOptions];
    const child = fork(entry, [], {
      env: { ...process.env, ...this.#env, NODE_OPTIONS: '' },
      execPath,
      execArgv,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child = child;
    const log = createWriteStream(this.logFile, { flags: 'a' });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.pipe(log, { end: false });
      stream?.on('data', (bytes: Buffer) => {
        output = `${output}${String(bytes)}`.slice(-QUOTED_CHARACTERS);
      });
    }
    // 'close' is emitted after all output has been read.
    child.once('close', () => log.end());
    const [message] = (await Promise.race([once(child, 'message'), once(child, 'close')])) as unknown[];
    if (typeof message === 'object' && message !== null) {
      this.#ready = message as Record<string, unknown>;
      return this.#ready;
    }
    const how = `ended (${String(message)}) before it was ready`;
    throw new Error(`${this.name} ${how}. Its last output:\n${output}`);
  }

  /** Sends a signal, and waits until the process ends if the signal ends it. @returns the exit code */
  async signal(signal: NodeJS.Signals): Promise<number | null> {
    if (this.isRunning) this.#child?.kill(signal);
    return signal === 'SIGSTOP' || signal === 'SIGCONT' ? null : (await this.ended()).code;
  }
}
