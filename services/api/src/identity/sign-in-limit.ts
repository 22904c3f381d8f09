import { createHash } from 'node:crypto';

/** Failures of a queue before its attempts take turns. */
const FREE_FAILURES = 10;
/** After this many failures or turns, a network is no longer new. */
const NEW_NETWORK_FAILURES = 5;
const TURN_MS = 5_000;
/** How long a turn stays reserved. */
const TURN_KEPT_MS = 60_000;
/** Turns are at most this far ahead: for 120 networks. */
const MAX_WAIT_MS = 10 * 60_000;
const FORGET_AFTER_MS = 60 * 60_000;
/** About 15 MB for each kind of counter. */
const MAX_COUNTERS = 50_000;

interface Queue {
  failures: number;
  nextTurnAt: number;
}

interface Turn {
  readonly queue: Queue;
  readonly at: number;
}

/** A network, or a known device. */
interface Client {
  /** Including its turns. */
  failures: number;
  /** The turn that is reserved for it; null: none. */
  turn: Turn | null;
}

interface SignInAttempt {
  /** In lower case, whether or not the user exists. */
  readonly email: string;
  readonly address: string;
  /** The id of a device that has signed in as this user before; null: none. */
  readonly device: string | null;
}

/** `undecided`: the password was not checked. */
export type AttemptOutcome = 'failed' | 'succeeded' | 'undecided';

/** Ends an attempt that was admitted; every one must be ended. */
type EndAttempt = (outcome: AttemptOutcome) => void;

export interface SignInLimitOptions {
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
  readonly maxCounters?: number;
}

/** Slows down guesses of a user's password from many addresses without locking the user out (SECURITY.md, "Failed sign-ins"). */
export class SignInLimit {
  readonly #now: () => number;
  readonly #queues: RecentlyUsed<Queue>;
  readonly #clients: RecentlyUsed<Client>;

  constructor({ now = () => performance.now(), maxCounters = MAX_COUNTERS }: SignInLimitOptions = {}) {
    this.#now = now;
    this.#queues = new RecentlyUsed(now, maxCounters);
    this.#clients = new RecentlyUsed(now, maxCounters);
  }

  /** @returns a function that ends the attempt once its password is checked, or the whole seconds to wait before that */
  begin({ email, address, device }: SignInAttempt): EndAttempt | number {
    const account = createHash('sha256').update(email).digest('base64url');
    const clientKey = `${account} ${device === null ? `network ${networkOf(address)}` : `device ${device}`}`;
    const client = this.#clients.find(clientKey) ?? { failures: 0, turn: null };
    const isNew = client.failures < NEW_NETWORK_FAILURES;
    const queueKey = device === null ? `${account} ${isNew ? 'new' : 'known'}` : clientKey;
    const queue = this.#queues.find(queueKey) ?? { failures: 0, nextTurnAt: 0 };

    const now = this.#now();
    if (client.turn !== null && now > client.turn.at + TURN_KEPT_MS) client.turn = null;
    if (client.turn === null && queue.failures >= FREE_FAILURES) {
      const at = Math.max(now, queue.nextTurnAt);
      if (at - now > MAX_WAIT_MS) return toSeconds(at - now - MAX_WAIT_MS);
      queue.nextTurnAt = at + TURN_MS;
      client.turn = { queue, at };
      client.failures += 1;
    }
    const { turn } = client;
    this.#clients.keep(clientKey, client);
    this.#queues.keep(queueKey, queue);
    if (turn === null) return withoutTurn(queue, client);
    return turn.at > now ? toSeconds(turn.at - now) : withTurn(turn, client);
  }
}

/** Counts as failed until it ends, so that attempts at the same time do not exceed the free failures. */
function withoutTurn(queue: Queue, client: Client): EndAttempt {
  queue.failures += 1;
  client.failures += 1;
  return (outcome) => {
    if (outcome === 'failed') return;
    queue.failures -= 1;
    client.failures = outcome === 'succeeded' ? 0 : Math.max(client.failures - 1, 0);
  };
}

function withTurn(turn: Turn, client: Client): EndAttempt {
  client.turn = null;
  return (outcome) => {
    if (outcome === 'failed') return;
    const isLast = turn.queue.nextTurnAt === turn.at + TURN_MS;
    // A turn that was not used for a guess must not delay others.
    if (isLast) turn.queue.nextTurnAt = turn.at;
    if (outcome === 'succeeded') client.failures = 0;
    else if (isLast) client.failures = Math.max(client.failures - 1, 0);
    else client.turn ??= turn;
  };
}

function toSeconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}

/** Values that are dropped an hour after their last use, or when there are too many. */
class RecentlyUsed<Value> {
  readonly #now: () => number;
  readonly #max: number;
  /** The least recently used first. */
  readonly #entries = new Map<string, { readonly value: Value; readonly usedAt: number }>();

  constructor(now: () => number, max: number) {
    this.#now = now;
    this.#max = max;
  }

  find(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined || this.#now() - entry.usedAt > FORGET_AFTER_MS ? undefined : entry.value;
  }

  keep(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, usedAt: this.#now() });
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined && this.#entries.size > this.#max) this.#entries.delete(oldest);
  }
}

/** The addresses of one customer of a provider: 24 bits of an IPv4 address, or 48 bits of an IPv6 address. */
function networkOf(address: string): string {
  const ipv4 = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/i.exec(address)?.[1];
  if (ipv4 !== undefined || !address.includes(':')) return ipv4 ?? address;
  const [head = '', tail = ''] = address.split('::');
  const [first = [], last = []] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return [...first, ...zeros, ...last]
    .slice(0, 3)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
