import { AppError } from '@tocsin/contracts/errors';
import { unavailable } from '../http/errors.ts';
import type { Caller } from '../http/request-state.ts';

/** Triggered checks that one api process runs at a time: for one API key or session, for one account, and in total. */
const TRIGGER_LIMITS = { caller: 25, account: 100, process: 1_000 } as const;

const RETRY_AFTER_SECONDS = 5;

interface Slot {
  /** The counters that it belongs to. */
  readonly keys: readonly string[];
  /** By `performance.now()`. */
  readonly endsAt: number;
}

/** Counts the triggered checks in progress, whether or not their clients still wait. */
export class TriggerLimits {
  readonly #limits: Readonly<Record<keyof typeof TRIGGER_LIMITS, number>>;
  readonly #slots = new Map<string, Set<Slot>>();

  constructor(limits: Readonly<Record<keyof typeof TRIGGER_LIMITS, number>> = TRIGGER_LIMITS) {
    this.#limits = limits;
  }

  /**
   * @param maxDurationMs after which the check no longer counts, even if it is not released
   * @returns releases it
   * @throws AppError rate_limited, or unavailable if this process runs too many
   */
  acquire(caller: Caller, maxDurationMs: number): () => void {
    const { caller: perCaller, account: perAccount, process: inAll } = this.#limits;
    const keys = [`caller ${caller.apiKeyId ?? caller.sessionId}`, `account ${caller.accountId}`, 'process'];
    const [ofCaller = 0, ofAccount = 0, ofProcess = 0] = keys.map((key) => this.#count(key));
    if (ofCaller >= perCaller) {
      throw limited(`This ${caller.apiKeyId === null ? 'session' : 'API key'} runs ${perCaller}`);
    }
    if (ofAccount >= perAccount) throw limited(`This account runs ${perAccount}`);
    if (ofProcess >= inAll) {
      throw unavailable(`This server runs ${inAll} triggered checks already. Try again soon.`);
    }
    const slot = { keys, endsAt: performance.now() + maxDurationMs };
    for (const key of keys) this.#slots.set(key, (this.#slots.get(key) ?? new Set()).add(slot));
    return () => this.#remove(slot);
  }

  #count(key: string): number {
    const now = performance.now();
    const slots = this.#slots.get(key) ?? new Set();
    for (const slot of slots) if (slot.endsAt <= now) this.#remove(slot);
    return slots.size;
  }

  #remove(slot: Slot): void {
    for (const key of slot.keys) {
      const slots = this.#slots.get(key);
      slots?.delete(slot);
      if (slots?.size === 0) this.#slots.delete(key);
    }
  }
}

function limited(who: string): AppError {
  return new AppError(
    'rate_limited',
    `${who} triggered checks already. Try again when one of them has ended.`,
    { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } },
  );
}
