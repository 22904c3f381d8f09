import { AdaptiveLimit } from '@tocsin/runtime/adaptive-limit';
import { FairShares } from '@tocsin/runtime/fair-shares';

/** Maximum concurrent lookups of names that did not resolve the last time, two queries each. */
const MAX_LOOKUPS = 10_000;
/** Any name server takes this many. For example, dnsmasq forwards 150 queries and refuses more. */
const MIN_LOOKUPS = 50;
const SAMPLE_MS = 500;
/** An account is affected if more than a fifth of its responses are refusals or late. */
const BAD_WEIGHT = 4;
/** A forwarder such as dnsmasq keeps an unanswered query for ten seconds. Later failures have another cause than lookups of this process. */
const OVERLOADED_FOR_MS = 15_000;
/** A forwarder recovers in ten seconds, so it is overloaded again for less than a fifth of the time. */
const RAISE_AFTER_MS = 60_000;

/** Limits lookups to what the name servers can take, because lookups of some accounts may make the servers fail for others. */
export class ServerLoad {
  /** Permits for lookups of names that did not resolve the last time. */
  readonly newNames = new FairShares(MAX_LOOKUPS, { isGuaranteed: true });
  readonly #limit = new AdaptiveLimit(MAX_LOOKUPS, MIN_LOOKUPS);
  readonly #now: () => number;
  /** Good responses to each account in this sample, less four times the bad ones. */
  readonly #balances = new Map<string, number>();
  #sampledSince = 0;
  #overloadedUntil = -Infinity;
  #raiseFrom = -Infinity;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** True if a failure says nothing about a name, because it may be due to lookups of this process. */
  get isOverloaded(): boolean {
    return this.#now() < this.#overloadedUntil;
  }

  /** Notes the end of a query. @param response `bad` if a server refused or was late, or null without a response */
  note(account: string, response: 'good' | 'bad' | null, running: number): void {
    const isOwnLoad = running >= MIN_LOOKUPS;
    const weight = response === 'good' ? 1 : response === 'bad' && isOwnLoad ? -BAD_WEIGHT : 0;
    if (this.#balances.size === 0) this.#sampledSince = this.#now();
    this.#balances.set(account, (this.#balances.get(account) ?? 0) + weight);
    if (this.#now() - this.#sampledSince >= SAMPLE_MS) this.#adapt();
  }

  #adapt(): void {
    // Accounts with mostly bad responses, less those with mostly good ones.
    let netAffected = 0;
    for (const balance of this.#balances.values()) netAffected += balance < 0 ? 1 : balance > 0 ? -1 : 0;
    this.#balances.clear();
    const now = this.#now();
    if (netAffected > 0) {
      if (!this.#limit.isLowest) this.#overloadedUntil = now + OVERLOADED_FOR_MS;
      this.#raiseFrom = now + RAISE_AFTER_MS;
      this.newNames.setCapacity(this.#limit.reduce(this.newNames.used));
    } else if (this.newNames.waiting > 0 && now >= this.#raiseFrom) {
      this.newNames.setCapacity(this.#limit.raise());
    }
  }
}
