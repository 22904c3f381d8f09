import { createHash } from 'node:crypto';

/** After this many failures, attempts of a queue need reservations. */
const FREE_FAILURES = 10;
/** After this many failures and reservations, a network is no longer new. */
const NEW_NETWORK_FAILURES = 5;
const RESERVATION_EVERY_MS = 5_000;
/** A reservation expires after this time. */
const RESERVATION_KEPT_MS = 60_000;
/** Reservations are at most this far ahead, which is enough for 120 networks. */
const MAX_WAIT_MS = 10 * 60_000;
const FORGET_AFTER_MS = 60 * 60_000;
/** About 15 MB for each kind of counter. */
const MAX_COUNTERS = 50_000;

interface Queue {
  failures: number;
  nextReservationAt: number;
}

interface Reservation {
  readonly queue: Queue;
  readonly at: number;
}

/** A network, or a known device. */
interface Client {
  /** Includes reservations. */
  failures: number;
  reservation: Reservation | null;
}

interface SignInAttempt {
  /** In lower case, whether or not the user exists. */
  readonly email: string;
  readonly address: string;
  /** Returns the id of a device that has signed in as this user, or null. */
  readonly device: string | null;
}

/** `undecided` if the password was not checked. */
export type AttemptOutcome = 'failed' | 'succeeded' | 'undecided';

/** Must be called for every admitted attempt. */
type EndAttempt = (outcome: AttemptOutcome) => void;

export interface SignInLimitOptions {
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
  readonly maxCounters?: number;
}

/** Slows down guesses of a password from many addresses without locking the user out (SECURITY.md, "Failed sign-ins"). */
export class SignInLimit {
  readonly #now: () => number;
  readonly #queues: RecentlyUsed<Queue>;
  readonly #clients: RecentlyUsed<Client>;

  constructor({ now = () => performance.now(), maxCounters = MAX_COUNTERS }: SignInLimitOptions = {}) {
    this.#now = now;
    this.#queues = new RecentlyUsed(now, maxCounters);
    this.#clients = new RecentlyUsed(now, maxCounters);
  }

  /** @returns a function that ends the attempt after the password check, or the whole seconds to wait before it */
  begin({ email, address, device }: SignInAttempt): EndAttempt | number {
    const account = createHash('sha256').update(email).digest('base64url');
    const clientKey = `${account} ${device === null ? `network ${networkOf(address)}` : `device ${device}`}`;
    const client = this.#clients.find(clientKey) ?? { failures: 0, reservation: null };
    const isNew = client.failures < NEW_NETWORK_FAILURES;
    const queueKey = device === null ? `${account} ${isNew ? 'new' : 'known'}` : clientKey;
    const queue = this.#queues.find(queueKey) ?? { failures: 0, nextReservationAt: 0 };

    const now = this.#now();
    if (client.reservation !== null && now > client.reservation.at + RESERVATION_KEPT_MS)
      client.reservation = null;
    if (client.reservation === null && queue.failures >= FREE_FAILURES) {
      const at = Math.max(now, queue.nextReservationAt);
      if (at - now > MAX_WAIT_MS) return toSeconds(at - now - MAX_WAIT_MS);
      queue.nextReservationAt = at + RESERVATION_EVERY_MS;
      client.reservation = { queue, at };
      client.failures += 1;
    }
    const { reservation } = client;
    this.#clients.keep(clientKey, client);
    this.#queues.keep(queueKey, queue);
    if (reservation === null) return countAttempt(queue, client);
    return reservation.at > now ? toSeconds(reservation.at - now) : takeReservation(reservation, client);
  }
}

/** Counts as failed until it ends, so that concurrent attempts cannot exceed the free failures. */
function countAttempt(queue: Queue, client: Client): EndAttempt {
  queue.failures += 1;
  client.failures += 1;
  return (outcome) => {
    if (outcome === 'failed') return;
    queue.failures -= 1;
    client.failures = outcome === 'succeeded' ? 0 : Math.max(client.failures - 1, 0);
  };
}

function takeReservation(reservation: Reservation, client: Client): EndAttempt {
  client.reservation = null;
  return (outcome) => {
    if (outcome === 'failed') return;
    const isLast = reservation.queue.nextReservationAt === reservation.at + RESERVATION_EVERY_MS;
    // A reservation that was not used for a guess must not delay others.
    if (isLast) reservation.queue.nextReservationAt = reservation.at;
    if (outcome === 'succeeded') client.failures = 0;
    else if (isLast) client.failures = Math.max(client.failures - 1, 0);
    else client.reservation ??= reservation;
  };
}

function toSeconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}

/** Drops values an hour after their last use, or when there are too many. */
class RecentlyUsed<Value> {
  readonly #now: () => number;
  readonly #max: number;
  /** Least recently used first. */
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

/** Returns the prefix that one customer of a provider shares, which is 24 bits of IPv4, or 48 bits of IPv6. */
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
