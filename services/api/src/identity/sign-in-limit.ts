import { createHash } from 'node:crypto';

/** Failures that a line may have before its attempts take turns. */
const FREE_FAILURES = 10;
/** After as many failures, or turns, a network is no longer new. */
const NEW_NETWORK_FAILURES = 5;
const TURN_MS = 5_000;
/** How long a turn waits for its attempt. */
const TURN_KEPT_MS = 60_000;
/** Turns are at most this far ahead: for 120 networks. */
const MAX_WAIT_MS = 10 * 60_000;
const FORGET_AFTER_MS = 60 * 60_000;
/** Some 15 MB for each kind of counter. */
const MAX_COUNTERS = 50_000;

interface Line {
  failures: number;
  nextTurnAt: number;
}

interface Turn {
  readonly line: Line;
  readonly at: number;
}

/** A network, or a known device. */
interface Client {
  /** Turns that it took count as well. */
  failures: number;
  /** The turn that is kept for it; null: none. */
  turn: Turn | null;
}

interface SignInAttempt {
  /** In lower case. Whether there is such a user does not matter. */
  readonly email: string;
  readonly address: string;
  /** The id of a device that has signed in as this user before; null: none. */
  readonly device: string | null;
}

/** `undecided`: the password was not checked. */
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
 * Slows down guesses of one user's password from many addresses without locking the user out. An attempt belongs to a line of its user: the
 * line of its device if that has signed in before, else the line of new networks, else the line of networks that have failed often. The
 * first failures of a line are free; then its attempts take turns. An attempt that must wait is refused, and a turn is kept for its network,
 * whatever others do meanwhile. A network has one turn at a time, and a turn counts as a failure of that network, so that guessing networks
 * leave the line of new ones. Counts in this process.
 */
export class SignInLimit {
  readonly #now: () => number;
  readonly #lines: RecentlyUsed<Line>;
  readonly #clients: RecentlyUsed<Client>;

  constructor({ now = () => performance.now(), maxCounters = MAX_COUNTERS }: SignInLimitOptions = {}) {
    this.#now = now;
    this.#lines = new RecentlyUsed(now, maxCounters);
    this.#clients = new RecentlyUsed(now, maxCounters);
  }

  /** @returns the attempt, or the whole seconds to wait before the password may be checked */
  begin({ email, address, device }: SignInAttempt): AdmittedAttempt | number {
    const account = createHash('sha256').update(email).digest('base64url');
    const clientKey = `${account} ${device === null ? `network ${networkOf(address)}` : `device ${device}`}`;
    const client = this.#clients.find(clientKey) ?? { failures: 0, turn: null };
    const isNew = client.failures < NEW_NETWORK_FAILURES;
    const lineKey = device === null ? `${account} ${isNew ? 'new' : 'known'}` : clientKey;
    const line = this.#lines.find(lineKey) ?? { failures: 0, nextTurnAt: 0 };

    const now = this.#now();
    if (client.turn !== null && now > client.turn.at + TURN_KEPT_MS) client.turn = null;
    if (client.turn === null && line.failures >= FREE_FAILURES) {
      const at = Math.max(now, line.nextTurnAt);
      if (at - now > MAX_WAIT_MS) return toSeconds(at - now - MAX_WAIT_MS);
      line.nextTurnAt = at + TURN_MS;
      client.turn = { line, at };
      client.failures += 1;
    }
    const { turn } = client;
    this.#clients.keep(clientKey, client);
    this.#lines.keep(lineKey, line);
    if (turn === null) return withoutTurn(line, client);
    return turn.at > now ? toSeconds(turn.at - now) : withTurn(turn, client);
  }
}

/** Counts as failed until it has ended, so that attempts at the same time do not get past the free failures. */
function withoutTurn(line: Line, client: Client): AdmittedAttempt {
  line.failures += 1;
  client.failures += 1;
  return {
    end: (outcome) => {
      if (outcome === 'failed') return;
      line.failures -= 1;
      client.failures = outcome === 'succeeded' ? 0 : Math.max(client.failures - 1, 0);
    },
  };
}

function withTurn(turn: Turn, client: Client): AdmittedAttempt {
  client.turn = null;
  return {
    end: (outcome) => {
      if (outcome === 'failed') return;
      const isLast = turn.line.nextTurnAt === turn.at + TURN_MS;
      // A turn that was not used for a guess must not delay others.
      if (isLast) turn.line.nextTurnAt = turn.at;
      if (outcome === 'succeeded') client.failures = 0;
      else if (isLast) client.failures = Math.max(client.failures - 1, 0);
      else client.turn ??= turn;
    },
  };
}

function toSeconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}

/** Values that are dropped an hour after their last use, or when there are too many. */
class RecentlyUsed<Value> {
  readonly #now: () => number;
  readonly #max: number;
  /** The one that was used longest ago first. */
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

/** What one customer of a provider may have: 24 bits of an IPv4 address, or 48 bits of an IPv6 address. */
function networkOf(address: string): string {
  const ipv4 = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/i.exec(address)?.[1];
  if (ipv4 !== undefined || !address.includes(':')) return ipv4 ?? address;
  const [head = '', tail = ''] = address.split('::');
  const [first, last] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - (first?.length ?? 0) - (last?.length ?? 0) }, () => '0');
  return [...(first ?? []), ...zeros, ...(last ?? [])]
    .slice(0, 3)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
