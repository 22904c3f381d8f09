import { setTimeout as wait } from 'node:timers/promises';
import type { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import { seenBefore } from '@tocsin/embedded/testing/until';
import type { ServiceProcess } from '../service-process.ts';
import type { ReplicaPlan } from './replica-plans.ts';

type Env = Readonly<Record<string, string>>;

export interface ReplicaOptions {
  readonly plan: ReplicaPlan;
  /** The connection to Postgres, which faults can interrupt. */
  readonly network: TcpProxy;
  /** @param env additional settings */
  readonly createProcess: (env: Env) => ServiceProcess;
  /** Receives a sentence when the process ends by itself. */
  readonly onUnexpectedEnd: (problem: string) => void;
}

const POLL_MS = 25;
/** An orchestrator restarts a replica within this time, even on a slow machine. */
const FREE_WITHIN_MS = 90_000;
const RESTART_MS = { first: 300, max: 3_000 } as const;

/** One replica, which is restarted whenever it ends, as by an orchestrator. */
export class Replica {
  readonly plan: ReplicaPlan;
  readonly network: TcpProxy;
  readonly #options: ReplicaOptions;
  #process: ServiceProcess;
  #hasStarted = false;
  #isFrozen = false;
  #isEndExpected = false;
  #isClosing = false;
  #isAcquired = false;
  #reservations = 0;
  #extraEnv: Env = {};
  #running: Promise<void> | undefined;

  constructor(options: ReplicaOptions) {
    this.plan = options.plan;
    this.network = options.network;
    this.#options = options;
    this.#process = options.createProcess({});
  }

  get name(): string {
    return this.plan.name;
  }

  get process(): ServiceProcess {
    return this.#process;
  }

  /** True if the current process has become ready and is not frozen. */
  get isReady(): boolean {
    return this.#hasStarted && !this.#isFrozen;
  }

  /** Port of the API, or 0 while the replica is not ready. */
  get port(): number {
    return this.#hasStarted ? this.#process.port : 0;
  }

  /** Acquires the replica for a fault. @returns false if another fault has acquired or reserved it */
  tryAcquire(): boolean {
    if (this.#isAcquired || this.#reservations > 0) return false;
    return (this.#isAcquired = true);
  }

  /** Acquires the replica as soon as it is ready and free, before any `tryAcquire`. @throws Error if that takes too long */
  async acquire(): Promise<void> {
    this.#reservations += 1;
    const isFree = (): boolean => this.isReady && !this.#isAcquired && (this.#isAcquired = true);
    const isAcquired = await seenBefore(Date.now() + FREE_WITHIN_MS, isFree, POLL_MS);
    this.#reservations -= 1;
    if (isAcquired === null) throw new Error(`${this.name} was never ready`);
  }

  release(): void {
    this.#isAcquired = false;
  }

  /** Returns its Prometheus metrics, or an empty text without a response. */
  metrics(): Promise<string> {
    return this.#process.metrics().catch(() => '');
  }

  /** Returns whether its stores respond. Null without a response. */
  readReadiness(): Promise<boolean | null> {
    return this.#process.isReady().catch(() => null);
  }

  /** Returns whether its stores respond, and its own work makes progress. */
  async isHealthy(): Promise<boolean> {
    const responses = await Promise.all(['/readyz', '/healthz'].map((path) => this.#process.get(path))).catch(
      () => [],
    );
    return this.isReady && responses.length > 0 && responses.every(({ ok }) => ok);
  }

  run(): void {
    this.#running ??= this.#keepRunning();
  }

  async signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    if (signal === 'SIGKILL') this.#isEndExpected = true;
    await this.#process.signal(signal);
    this.#isFrozen = signal === 'SIGSTOP';
  }

  /**
   * Ends the process, so that it is restarted.
   * @param env additional settings of the next processes
   * @returns the exit code, or null if a signal ended it
   */
  async replace(signal: 'SIGTERM' | 'SIGKILL', env: Env = {}): Promise<number | null> {
    this.#extraEnv = env;
    this.#isEndExpected = true;
    this.#hasStarted = false;
    return this.#process.signal(signal);
  }

  /** Ends the replica without a restart. @returns the exit code, or null if a signal ended it */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    this.#isClosing = true;
    this.#isEndExpected = true;
    for (;;) {
      // The process may not exist yet.
      const code = await this.#process.signal(signal);
      const ended = await Promise.race([this.#running, wait(100, 'starting')]);
      if (ended !== 'starting') return code;
    }
  }

  async #keepRunning(): Promise<void> {
    let delayMs: number = RESTART_MS.first;
    while (!this.#isClosing) {
      this.#process = this.#options.createProcess(this.#extraEnv);
      this.#isEndExpected = false;
      try {
        await this.#process.start();
        this.#hasStarted = true;
        delayMs = RESTART_MS.first;
        const { code, signal } = await this.#process.ended();
        if (!this.#isEndExpected) {
          const how = `ended by itself with ${code ?? signal}`;
          this.#options.onUnexpectedEnd(`${this.name} ${how} at ${new Date().toISOString()}`);
        }
      } catch {
        // A store is unavailable, or a fault hit the replica while it started.
        delayMs = Math.min(delayMs * 2, RESTART_MS.max);
      }
      this.#hasStarted = false;
      this.#isFrozen = false;
      if (!this.#isClosing) await wait(delayMs);
    }
  }
}
