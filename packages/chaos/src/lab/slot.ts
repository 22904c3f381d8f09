import { setTimeout as wait } from 'node:timers/promises';
import { ServiceProcess } from '@tocsin/lab/service-process';
import type { TcpProxy } from '@tocsin/embedded/testing/tcp-proxy';
import type { SlotPlan } from '../plan/slots.ts';

/** A process that ended, or could not start, without anybody having told it to. */
interface UnexpectedEnd {
  readonly slot: string;
  readonly at: number;
  readonly how: string;
}

export interface SlotOptions {
  readonly plan: SlotPlan;
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
  /** Between it and Postgres. */
  readonly network: TcpProxy;
  /** For Node itself. */
  readonly nodeOptions: readonly string[];
  readonly onUnexpectedEnd: (end: UnexpectedEnd) => void;
}

const LOOK_EVERY_MS = 25;
const RESTART_MS = { first: 300, most: 3_000 } as const;

/** One replica, which is started again whenever it ends, as an orchestrator would; nothing else helps it. */
export class Slot {
  readonly plan: SlotPlan;
  readonly #options: SlotOptions;
  #process: ServiceProcess;
  #ready: Record<string, unknown> | null = null;
  #starts = 0;
  #expected = false;
  #stopped = false;
  #closing = false;
  #taken = false;
  #reserved = 0;
  #extraEnv: Readonly<Record<string, string>> = {};
  #running: Promise<void> | undefined;

  constructor(options: SlotOptions) {
    this.plan = options.plan;
    this.#options = options;
    this.#process = this.#create();
  }

  get name(): string {
    return this.plan.name;
  }

  /** Between it and Postgres, to be broken. */
  get network(): TcpProxy {
    return this.#options.network;
  }

  /** Whether its present process has said that it is ready, and is not stopped. */
  get isReady(): boolean {
    return this.#ready !== null && !this.#stopped;
  }

  /** Of the API, or of the health endpoints; 0 while it is not there. */
  get port(): number {
    return Number(this.#ready?.['port'] ?? this.#ready?.['healthPort'] ?? 0);
  }

  /** How often it was started. */
  get starts(): number {
    return this.#starts;
  }

  /** Takes it for a fault, so that no other one hits it meanwhile. @returns false where another one has it, or is to have it next */
  take(): boolean {
    if (this.#taken || this.#reserved > 0) return false;
    this.#taken = true;
    return true;
  }

  /** Takes it as soon as it is ready and nobody has it; until then nobody else gets it. @returns false where that is not in time */
  async takeNext(until: number): Promise<boolean> {
    this.#reserved += 1;
    try {
      while (Date.now() < until) {
        if (this.isReady && !this.#taken) return (this.#taken = true);
        await wait(LOOK_EVERY_MS);
      }
      return false;
    } finally {
      this.#reserved -= 1;
    }
  }

  giveBack(): void {
    this.#taken = false;
  }

  /** Starts it, and from then on again whenever it ends. */
  run(): void {
    this.#running ??= this.#keepRunning();
  }

  /** Ends it at once, or freezes it, or thaws it. */
  async signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    if (signal === 'SIGKILL') this.#expected = true;
    await this.#process.signal(signal);
    this.#stopped = signal === 'SIGSTOP';
  }

  /**
   * Ends it and has it started again.
   * @param signal SIGTERM: as a deployment does; SIGKILL: at once
   * @param env of the next process besides its own
   * @returns its exit code; null where a signal ended it
   */
  async replace(
    signal: 'SIGTERM' | 'SIGKILL',
    env: Readonly<Record<string, string>> = {},
  ): Promise<number | null> {
    this.#extraEnv = env;
    this.#expected = true;
    this.#ready = null;
    return this.#process.signal(signal);
  }

  /** Ends it for good, as a deployment does. @returns its exit code */
  async end(): Promise<number | null> {
    this.#closing = true;
    this.#expected = true;
    const code = await this.#process.signal('SIGTERM');
    await this.#running;
    return code;
  }

  /** Ends it for good, at once. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#expected = true;
    // One that is only just being started has no process yet.
    while (this.#running !== undefined) {
      await this.#process.signal('SIGKILL');
      const ended = await Promise.race([this.#running.then(() => true), wait(100).then(() => false)]);
      if (ended) return;
    }
  }

  #create(): ServiceProcess {
    const { plan, env, logFile, nodeOptions } = this.#options;
    return new ServiceProcess(plan.service, { ...env, ...this.#extraEnv }, logFile, nodeOptions);
  }

  async #keepRunning(): Promise<void> {
    let delayMs: number = RESTART_MS.first;
    while (!this.#closing) {
      this.#process = this.#create();
      this.#starts += 1;
      this.#expected = false;
      try {
        this.#ready = await this.#process.start();
        delayMs = RESTART_MS.first;
        const { code, signal } = await this.#process.ended();
        if (!this.#expected) this.#tell(`ended by itself with ${code ?? signal}`);
      } catch {
        // It could not start: a store is away, or it was hit meanwhile. It is tried again.
        delayMs = Math.min(delayMs * 2, RESTART_MS.most);
      }
      this.#ready = null;
      this.#stopped = false;
      if (!this.#closing) await wait(delayMs);
    }
  }

  #tell(how: string): void {
    this.#options.onUnexpectedEnd({ slot: this.name, at: Date.now(), how });
  }
}
