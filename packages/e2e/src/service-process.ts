import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { fileURLToPath } from 'node:url';

export type ServiceName = 'api' | 'checker' | 'notifier';

/** A service of the system as a process of its own, as in production, to be killed and started again. */
export class ServiceProcess {
  readonly #name: ServiceName;
  readonly #env: NodeJS.ProcessEnv;
  readonly #logFile: string;
  readonly #nodeOptions: readonly string[];
  #child: ChildProcess | undefined;

  /** @param nodeOptions for Node itself, as `--cpu-prof` */
  constructor(
    name: ServiceName,
    env: NodeJS.ProcessEnv,
    logFile: string,
    nodeOptions: readonly string[] = [],
  ) {
    this.#name = name;
    this.#env = env;
    this.#logFile = logFile;
    this.#nodeOptions = nodeOptions;
  }

  /** 0 before it was started. */
  get pid(): number {
    return this.#child?.pid ?? 0;
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
    const log = createWriteStream(this.#logFile, { flags: 'a' });
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    const [message] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as unknown[];
    if (typeof message === 'object' && message !== null) return message as Record<string, unknown>;
    throw new Error(`${this.#name} ended (${String(message)}) before it was ready: see ${this.#logFile}`);
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
