export const PING_EVERY_MS = 250;
/** A connection without a pong for this long is dead. */
const DEAD_AFTER_MS = 5_000;
/** A pause between pongs that exceeds the usual round trip by this much is an interruption. */
const MAX_PAUSE_MS = 750;
/** If a round trip exceeds the usual one by this much, a packet was lost, because TCP retransmits after 200 ms at the earliest. */
const MAX_DELAY_MS = 200;
/** After an interruption, the link is steady once pongs have arrived without a pause for this long. */
const STEADY_AFTER_MS = 500;
/** The usual round trip is the shortest one. Each longer one raises it by this much, so that it follows a new route within a minute. */
const ROUND_TRIP_GROWTH = 1.02;
const ROUND_TRIP_STEP_MS = 0.1;
/** With more pings in flight, proofs wait for the next regular one. Gateways terminate a connection with more than 60 unsent pongs. */
const MAX_PROMPT_PINGS = 20;

/** `lost`: the connection was lost, or no pong arrived in time. */
export type Proof = 'unbroken' | 'interrupted' | 'lost';

interface Waiter {
  readonly until: number;
  readonly onPong: (ping: number, roundTripMs: number) => void;
  readonly onLost: () => void;
}

export interface LinkOptions {
  readonly sendPing: (ping: number) => void;
  /** Called when no pong has arrived for five seconds. */
  readonly onDead: () => void;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/**
 * Watches one connection to a gateway through pings. While pongs arrive, the network of this machine works, so a failed probe is the fault
 * of its target. Call `tick` every `PING_EVERY_MS`.
 */
export class Link {
  readonly #options: Required<LinkOptions>;
  readonly #sentAt = new Map<number, number>();
  readonly #waiters = new Set<Waiter>();
  #lastPing = 0;
  #pongAt: number;
  /** Since this time, pongs have arrived without a long pause. */
  #steadySince = Infinity;
  #roundTripMs = Infinity;
  #promptPing: NodeJS.Immediate | undefined;
  #isLost = false;

  constructor(options: LinkOptions) {
    this.#options = { now: () => performance.now(), ...options };
    this.#pongAt = this.#options.now();
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Usual round trip in ms. Infinity before the first pong. */
  get roundTripMs(): number {
    return this.#roundTripMs;
  }

  /** Call when the connection is open. Connecting may have taken several seconds. */
  open(): void {
    this.#pongAt = this.#options.now();
  }

  /** Sends the next ping, and gives up waiting for proofs that are too late. */
  tick(): void {
    if (this.#isLost) return;
    const now = this.#options.now();
    if (now - this.#pongAt > DEAD_AFTER_MS) return this.#options.onDead();
    for (const waiter of this.#waiters) if (now > waiter.until) this.#settle(waiter, waiter.onLost);
    this.#ping();
  }

  pong(ping: number): void {
    const now = this.#options.now();
    const sentAt = this.#sentAt.get(ping);
    if (sentAt === undefined) return;
    // A gateway may respond to only the latest of several pings.
    for (const earlier of this.#sentAt.keys()) if (earlier <= ping) this.#sentAt.delete(earlier);
    const roundTripMs = now - sentAt;
    this.#roundTripMs = Math.min(roundTripMs, (this.#roundTripMs + ROUND_TRIP_STEP_MS) * ROUND_TRIP_GROWTH);
    const wasPaused = now - this.#pongAt > MAX_PAUSE_MS + this.#roundTripMs;
    if (wasPaused || this.#steadySince === Infinity) this.#steadySince = now;
    this.#pongAt = now;
    for (const waiter of this.#waiters) waiter.onPong(ping, roundTripMs);
  }

  /** The connection is closed. */
  lose(): void {
    this.#isLost = true;
    clearImmediate(this.#promptPing);
    for (const waiter of this.#waiters) this.#settle(waiter, waiter.onLost);
  }

  /** Pings at once, and reports whether pongs arrived without a long pause from `since` until the pong to this ping. */
  prove(since: number, until: number): Promise<Proof> {
    const next = this.#lastPing + 1;
    // Probes often fail together, so they share one ping.
    if (this.#sentAt.size < MAX_PROMPT_PINGS) this.#promptPing ??= setImmediate(() => this.#ping());
    return this.#wait(until, (ping, roundTripMs) => {
      if (ping < next) return null;
      const isPrompt = roundTripMs <= this.#roundTripMs + MAX_DELAY_MS;
      return isPrompt && this.#steadySince <= since ? 'unbroken' : 'interrupted';
    });
  }

  /** Waits until pongs arrive regularly. */
  steady(until: number): Promise<'steady' | 'lost'> {
    return this.#wait(until, () => (this.#pongAt - this.#steadySince >= STEADY_AFTER_MS ? 'steady' : null));
  }

  /** @param look called for each pong, until it returns a result */
  #wait<Result>(
    until: number,
    look: (ping: number, roundTripMs: number) => Result | null,
  ): Promise<Result | 'lost'> {
    if (this.#isLost) return Promise.resolve('lost');
    return new Promise((resolve) => {
      const waiter: Waiter = {
        until,
        onPong: (ping, roundTripMs) => {
          const result = look(ping, roundTripMs);
          if (result !== null) this.#settle(waiter, () => resolve(result));
        },
        onLost: () => resolve('lost'),
      };
      this.#waiters.add(waiter);
    });
  }

  #settle(waiter: Waiter, resolve: () => void): void {
    this.#waiters.delete(waiter);
    resolve();
  }

  #ping(): void {
    clearImmediate(this.#promptPing);
    this.#promptPing = undefined;
    this.#lastPing += 1;
    this.#sentAt.set(this.#lastPing, this.#options.now());
    this.#options.sendPing(this.#lastPing);
  }
}
