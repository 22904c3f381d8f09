import { AppError } from '@tocsin/contracts/errors';
import { unavailable } from '../http/errors.ts';
import type { Caller } from '../http/request-state.ts';

/** Triggered checks under way that one api process allows: for one API key or session, for one account, and in all. */
const TRIGGER_LIMITS = { caller: 25, account: 100, process: 1_000 } as const;

const RETRY_AFTER_SECONDS = 5;

interface Slot {
  /** Whom it counts for. */
  readonly keys: readonly string[];
  /** By `performance.now()`. */
  readonly endsAt: number;
}

/** Counts the triggered checks that are under way, whether or not somebody still waits for them. */
export class TriggerLimits {
  readonly #limits: Readonly<Record<keyof typeof TRIGGER_LIMITS, number>>;
  readonly #slots = new Map<string, Set<Slot>>();

  constructor(limits: Readonly<Record<keyof typeof TRIGGER_LIMITS, number>> = TRIGGER_LIMITS) {
    this.#limits = limits;
  }

  /**
   * Counts one more.
   * @param longestMs how long the check takes at most, in milliseconds: then it is over, whoever forgot it
   * @returns ends it sooner
   * @throws AppError rate_limited, or unavailable where this process runs too many
   */
  admit(caller: Caller, longestMs: number): () => void {
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
    const slot = { keys, endsAt: performance.now() + longestMs };
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

function limited(what: string): AppError {
  return new AppError(
    'rate_limited',
    `${what} triggered checks already. Try again when one of them has ended.`,
    { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } },
  );
}
