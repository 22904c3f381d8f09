import type { LookupAddress } from 'node:dns';
import type { LookupAll } from './guarded-lookup.ts';

type Options = Parameters<LookupAll>[1];
type Callback = Parameters<LookupAll>[2];

/** A lookup that took longer is that of a slow name, until one of it is fast again. */
const SLOW_MS = 1_000;
/** A slow name whose turn has not come by then is not looked up: whoever asked has given up. */
const TURN_WITHIN_MS = 10_000;
/** Of slow names that are known; beyond that the oldest is forgotten. */
const MOST_SLOW = 10_000;

/** libuv gives name lookups half of its threads. */
const THREADS = Math.max(1, Math.floor((Number(process.env['UV_THREADPOOL_SIZE'] ?? 4) + 1) / 2));

export interface SharedLookupOptions {
  readonly lookup: LookupAll;
  /** How many lookups of slow names may be under way at a time; default: a quarter of what the process can do. */
  readonly mostSlow?: number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** A name that is being looked up, or waits for that. */
interface Asked {
  readonly hostname: string;
  readonly options: Options;
  readonly askers: Callback[];
  /** When it was asked for, and then when its lookup began. */
  since: number;
}

/**
 * Looks names up so that some that hang do not hold up all others: `dns.lookup` cannot be cancelled, and a process does only
 * so many at a time. A name is looked up once for all who ask meanwhile, and names that were slow have a share of their own.
 * What did not have its turn fails as a name server that did not answer.
 */
export function createSharedLookup(options: SharedLookupOptions): LookupAll {
  const { lookup, mostSlow = Math.max(1, Math.floor(THREADS / 4)), now = () => performance.now() } = options;
  const asked = new Map<string, Asked>();
  const running = new Set<Asked>();
  const waiting = new Set<Asked>();
  const slow = new Set<string>();

  const begin = (key: string, one: Asked): void => {
    one.since = now();
    running.add(one);
    lookup(one.hostname, one.options, (error, addresses) => {
      running.delete(one);
      asked.delete(key);
      noteSpeed(one.hostname, now() - one.since);
      tell(one, error, addresses);
      giveTurns();
    });
  };
  const noteSpeed = (hostname: string, tookMs: number): void => {
    slow.delete(hostname);
    if (tookMs <= SLOW_MS) return;
    slow.add(hostname);
    const [oldest] = slow;
    if (slow.size > MOST_SLOW && oldest !== undefined) slow.delete(oldest);
  };
  const isRoomForSlow = (): boolean => {
    const count = [...running].filter((one) => slow.has(one.hostname) || now() - one.since > SLOW_MS).length;
    return count < mostSlow;
  };
  const giveTurns = (): void => {
    for (const one of waiting) {
      const isLate = now() - one.since > TURN_WITHIN_MS;
      if (!isLate && !isRoomForSlow()) return;
      waiting.delete(one);
      if (!isLate) begin(keyOf(one), one);
      else {
        asked.delete(keyOf(one));
        tell(one, noTurn(one.hostname), []);
      }
    }
  };

  return (hostname, given, callback) => {
    const one: Asked = { hostname, options: given, askers: [callback], since: now() };
    const key = keyOf(one);
    const known = asked.get(key);
    if (known !== undefined) {
      known.askers.push(callback);
      return;
    }
    asked.set(key, one);
    if (!slow.has(hostname)) {
      begin(key, one);
      return;
    }
    waiting.add(one);
    giveTurns();
  };
}

function keyOf({ hostname, options }: Pick<Asked, 'hostname' | 'options'>): string {
  return `${hostname} ${options.family ?? 0} ${options.hints ?? 0}`;
}

function tell({ askers }: Asked, error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
  for (const callback of askers) callback(error, addresses);
}

function noTurn(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo EAI_AGAIN ${hostname}`), {
    code: 'EAI_AGAIN',
    syscall: 'getaddrinfo',
    hostname,
  });
}
