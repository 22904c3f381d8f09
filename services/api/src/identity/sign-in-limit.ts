import { createHash } from 'node:crypto';

/** Failures in a row that one device, or one network, may make on an account without a delay. */
const FREE_FAILURES = 5;
/** The same for all networks together. */
const FREE_ACCOUNT_FAILURES = 20;
/** After the free ones each failure doubles the delay, from a second up to this: the longest that anybody waits. */
const MAX_DELAY_SECONDS = 10;
const FORGET_AFTER_MS = 60 * 60 * 1_000;
/** Some 15 MB. Each counter costs the one who makes it a password check, so that flushing them takes hours of CPU time. */
const MAX_COUNTERS = 50_000;

interface Counter {
  failures: number;
  /** When the last attempt was counted. */
  at: number;
}

interface SignInAttempt {
  /** In lower case; whether there is such a user does not matter. */
  readonly email: string;
  readonly address: string;
  /** The id of a device that has signed in as this user before; null: of none. */
  readonly device: string | null;
}

/** `undecided`: the password was not checked, so that the attempt does not count. */
export type AttemptOutcome = 'failed' | 'succeeded' | 'undecided';

/** An attempt that may check its password. Every one must be ended. */
interface AdmittedAttempt {
  end(outcome: AttemptOutcome): void;
}

export interface SignInLimitOptions {
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  readonly maxCounters?: number;
}

/**
 * Slows down guesses of one user's password from many addresses, without locking the user out. Each network has its own delay on an account.
 * All networks that have failed before share another one, and so do all that have not: failures of others do not delay a user by more than
 * `MAX_DELAY_SECONDS`, unless they come from ever new networks. Devices that have signed in before have their own delay alone. Counts in
 * this process.
 */
export class SignInLimit {
  readonly #now: () => number;
  readonly #maxCounters: number;
  /** Those that were counted longest ago first. */
  readonly #counters = new Map<string, Counter>();

  constructor({ now = () => performance.now(), maxCounters = MAX_COUNTERS }: SignInLimitOptions = {}) {
    this.#now = now;
    this.#maxCounters = maxCounters;
  }

  /**
   * Counts an attempt as failed until it has ended, so that attempts at the same time do not get past each other.
   * @returns the whole seconds to wait before the password may be checked, or the attempt
   */
  begin(attempt: SignInAttempt): AdmittedAttempt | number {
    const rules = this.#rulesFor(attempt);
    const waitSeconds = Math.max(...rules.map(({ key, free }) => this.#waitSeconds(key, free)));
    if (waitSeconds > 0) return Math.ceil(waitSeconds);
    for (const { key } of rules) this.#count(key);
    return {
      end: (outcome) => {
        if (outcome === 'failed') return;
        for (const { key } of rules) this.#takeBack(key);
        const [own] = rules;
        if (own !== undefined && outcome === 'succeeded') this.#counters.delete(own.key);
      },
    };
  }

  /** The counters of an attempt: its own one, then the one it shares. */
  #rulesFor({ email, address, device }: SignInAttempt): { key: string; free: number }[] {
    const account = createHash('sha256').update(email).digest('base64url');
    if (device !== null) return [{ key: `${account} device ${device}`, free: FREE_FAILURES }];
    const own = `${account} network ${networkOf(address)}`;
    const isNew = (this.#find(own)?.failures ?? 0) < FREE_FAILURES;
    return [
      { key: own, free: FREE_FAILURES },
      { key: `${account} ${isNew ? 'new' : 'known'} networks`, free: FREE_ACCOUNT_FAILURES },
    ];
  }

  #waitSeconds(key: string, free: number): number {
    const counter = this.#find(key);
    if (counter === undefined || counter.failures < free) return 0;
    const delay = Math.min(2 ** (counter.failures - free), MAX_DELAY_SECONDS);
    return delay - (this.#now() - counter.at) / 1_000;
  }

  #find(key: string): Counter | undefined {
    const counter = this.#counters.get(key);
    return counter === undefined || this.#now() - counter.at > FORGET_AFTER_MS ? undefined : counter;
  }

  #count(key: string): void {
    const failures = (this.#find(key)?.failures ?? 0) + 1;
    this.#counters.delete(key);
    this.#counters.set(key, { failures, at: this.#now() });
    const [oldest] = this.#counters.keys();
    if (oldest !== undefined && this.#counters.size > this.#maxCounters) this.#counters.delete(oldest);
  }

  #takeBack(key: string): void {
    const counter = this.#counters.get(key);
    if (counter === undefined) return;
    counter.failures -= 1;
    if (counter.failures <= 0) this.#counters.delete(key);
  }
}

/** What one client has at least: an IPv4 address, or the first 64 bits of an IPv6 address. */
function networkOf(address: string): string {
  const ipv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (ipv4 !== undefined || !address.includes(':')) return ipv4 ?? address;
  const [head = '', tail = ''] = address.split('::');
  const [first, last] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - (first?.length ?? 0) - (last?.length ?? 0) }, () => '0');
  return [...(first ?? []), ...zeros, ...(last ?? [])]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
