import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** As much as an error tells of what a service said: its log goes with the system. */
const SAID_CHARACTERS = 4_000;

export type ServiceName = 'api' | 'checker' | 'notifier';

/** A service of the system as a process of its own, as in production, to be killed and started again. */
export class ServiceProcess {
  readonly #name: ServiceName;
  readonly #env: NodeJS.ProcessEnv;
  /** Where all that it says goes; gone with the system. */
  readonly logFile: string;
  readonly #nodeOptions: readonly string[];
  #child: ChildProcess | undefined;
  #ready: Record<string, unknown> = {};

  /** @param nodeOptions for Node itself, as `--cpu-prof` */
  constructor(
    name: ServiceName,
    env: NodeJS.ProcessEnv,
    logFile: string,
    nodeOptions: readonly string[] = [],
  ) {
    this.#name = name;
    this.#env = env;
    this.logFile = logFile;
    this.#nodeOptions = nodeOptions;
  }

  get name(): ServiceName {
    return this.#name;
  }

  /** Where an api listens since its last start; 0 before that. */
  get port(): number {
    return Number(this.#ready['port'] ?? 0);
  }

  /** What it tells Prometheus. */
  async metrics(): Promise<string> {
    return (await this.#ask('/metrics')).text();
  }

  /** Whether it says that it is ready. */
  async isReady(): Promise<boolean> {
    return (await this.#ask('/readyz')).ok;
  }

  #ask(path: string): Promise<Response> {
    const port = Number(this.#ready['healthPort'] ?? this.port);
    return fetch(`http://127.0.0.1:${port}${path}`);
  }

  /** 0 before it was started. */
  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** Resolves when the process of the last start has ended; at once where there is none. */
  async ended(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const child = this.#child;
    if (!child) return { code: null, signal: null };
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return { code: child.exitCode, signal: child.signalCode };
  }

  /** Resolves when it says that it is ready, with what it said. */
  async start(): Promise<Record<string, unknown>> {
    const entry = fileURLToPath(new URL(`../../../services/${this.#name}/dist/main.js`, import.meta.url));
    const child = fork(entry, [], {
      env: { ...process.env, ...this.#env, NODE_OPTIONS: '' },
      execArgv: [...this.#nodeOptions],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child = child;
    const log = createWriteStream(this.logFile, { flags: 'a' });
    let said = '';
    for (const output of [child.stdout, child.stderr]) {
      output?.pipe(log, { end: false });
      output?.on('data', (bytes: Buffer) => (said = `${said}${String(bytes)}`.slice(-SAID_CHARACTERS)));
    }
    // 'close' comes when all that it said has been read.
    child.once('close', () => log.end());
    const [message] = (await Promise.race([once(child, 'message'), once(child, 'close')])) as unknown[];
    if (typeof message === 'object' && message !== null) {
      this.#ready = message as Record<string, unknown>;
      return this.#ready;
    }
    throw new Error(`${this.#name} ended (${String(message)}) before it was ready, and said last:\n${said}`);
  }

  /** Sends a signal and, for those that end it, waits until it has ended. @returns its exit code */
  async signal(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') {
      child.kill(signal);
      return null;
    }
    const exit = once(child, 'exit');
    child.kill(signal);
    const [code] = (await exit) as [number | null];
    return code;
  }
}
