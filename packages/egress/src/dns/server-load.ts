import { AdaptiveLimit } from '@tocsin/runtime/adaptive-limit';
import { FairShares } from '@tocsin/runtime/fair-shares';

/** Maximum concurrent lookups of names that did not resolve the last time, two queries each. */
const MAX_LOOKUPS = 10_000;
/** Any name server takes this many. For example, dnsmasq forwards 150 queries and refuses more. */
const MIN_LOOKUPS = 50;
/** The limit rises this far if names of the waiting accounts get no response. A name server that drops queries must not get many of them. */
const MAX_SILENT_LOOKUPS = 250;
const SAMPLE_MS = 500;
/** An account is affected if more than a fifth of its responses are refusals or late, or a fiftieth while it waits for permits. */
const BAD_WEIGHTS = { waiting: 49, other: 4 };
/** A forwarder such as dnsmasq keeps an unanswered query for ten seconds. Later failures have another cause than lookups of this process. */
const OVERLOADED_FOR_MS = 15_000;
/** Refusals and late responses show within this time that a raised limit is too high. */
const UNPROVEN_FOR_MS = 2_000;
/** A forwarder recovers in ten seconds, so it is overloaded again for less than a fifth of the time. */
const RAISE_AFTER_MS = 60_000;

/**
 * Limits lookups to what the name servers can take, because lookups of some accounts may make the servers fail for others. Like the slow
 * start of TCP, the limit is low at first and doubles with each round trip, until a server refuses or is late.
 */
export class ServerLoad {
  /** Permits for lookups of names that did not resolve the last time. */
  readonly newNames = new FairShares(MIN_LOOKUPS, { isGuaranteed: true });
  readonly #limit = new AdaptiveLimit(MAX_LOOKUPS, MIN_LOOKUPS, MIN_LOOKUPS);
  readonly #now: () => number;
  #isSlowStart = true;
  /** Good responses to each account in this sample, less the weights of bad ones. */
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
    const waits = this.newNames.waitingOf(account) > 0;
    const badWeight = isOwnLoad ? BAD_WEIGHTS[waits ? 'waiting' : 'other'] : 0;
    const weight = response === 'good' ? 1 : response === 'bad' ? -badWeight : 0;
    if (weight < 0) this.#isSlowStart = false;
    else if (weight > 0 && this.#isSlowStart && waits) this.#raise(weight);
    if (this.#balances.size === 0) this.#sampledSince = this.#now();
    this.#balances.set(account, (this.#balances.get(account) ?? 0) + weight);
    if (this.#now() - this.#sampledSince >= SAMPLE_MS) this.#adapt();
  }

  #adapt(): void {
    // Accounts with mostly bad responses, less those with mostly good ones.
    let netAffected = 0;
    // A waiting account floods the servers, or needs them and can have more.
    let isFlooded = false;
    let hasResponses = false;
    for (const [account, balance] of this.#balances) {
      const waits = this.newNames.waitingOf(account) > 0;
      netAffected -= Math.sign(balance);
      isFlooded ||= waits && balance < 0;
      hasResponses ||= waits && balance > 0;
    }
    this.#balances.clear();
    const now = this.#now();
    if (netAffected > 0 || isFlooded) {
      if (this.#limit.current > MIN_LOOKUPS || now >= this.#raiseFrom)
        this.#overloadedUntil = now + OVERLOADED_FOR_MS;
      this.#raiseFrom = now + RAISE_AFTER_MS;
      this.newNames.setCapacity(this.#limit.reduce(this.newNames.used));
    } else if (now >= this.#raiseFrom && (hasResponses || this.#limit.current < MAX_SILENT_LOOKUPS)) {
      this.#raise();
    }
  }

  #raise(by?: number): void {
    if (this.newNames.waiting === 0 || this.#limit.current === MAX_LOOKUPS) return;
    this.#overloadedUntil = Math.max(this.#overloadedUntil, this.#now() + UNPROVEN_FOR_MS);
    this.newNames.setCapacity(this.#limit.raise(by));
  }
}
