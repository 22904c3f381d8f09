import dns from 'node:dns';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';

/*
 * Loaded into a service before its own code (`node --import`), because the system's resolver cannot be changed for one process. Names
 * below `tocsin.test` resolve to the loopback address of this replica, which shows targets and receivers who sent a request. They do
 * not resolve while DOWN_FILE exists. Its content says whether lookups fail or hang, and each affected lookup writes another file.
 * Names below `hang.tocsin.test` never resolve, and each lookup of one appends a byte to a file.
 */

const ADDRESS = process.env['LAB_ADDRESS'] ?? '127.0.0.1';
const DOWN_FILE = process.env['LAB_DNS_DOWN_FILE'] ?? '';
const ZONE = '.tocsin.test';
const HANGING_ZONE = '.hang.tocsin.test';
/** Timeout of c-ares for one query. The services repeat the query until the deadline of the lookup, 10 s at most. */
const TIMEOUT_MS = 5_000;
const POLL_MS = 250;

type Callback = (error: NodeJS.ErrnoException | null, addresses: string[]) => void;
type Resolve = (hostname: string, callback: Callback) => void;

/** @param addresses returned for every name in the zone */
function replacing(real: Resolve, addresses: string[]): Resolve {
  return function resolve(this: dns.Resolver, hostname, callback) {
    if (!hostname.endsWith(ZONE)) {
      Reflect.apply(real, this, [hostname, callback]);
      return;
    }
    const fail = (code: string): void => {
      callback(Object.assign(new Error(`query ${code} ${hostname}`), { code }), []);
    };
    if (hostname.endsWith(HANGING_ZONE)) {
      appendFileSync(`${DOWN_FILE}.hung-${ADDRESS}`, '.');
      setTimeout(fail, TIMEOUT_MS, dns.TIMEOUT);
      return;
    }
    const startedAt = performance.now();
    const look = (): void => {
      const failure = readFailure();
      if (failure !== null) writeFileSync(`${DOWN_FILE}.met`, '');
      if (failure === 'fail') fail(dns.SERVFAIL);
      else if (failure === null && addresses.length === 0) fail(dns.NODATA);
      else if (failure === null) callback(null, addresses);
      else if (performance.now() - startedAt > TIMEOUT_MS) fail(dns.TIMEOUT);
      else setTimeout(look, POLL_MS);
    };
    setImmediate(look);
  };
}

/** Returns null while names resolve. */
function readFailure(): string | null {
  try {
    return readFileSync(DOWN_FILE, 'utf8');
  } catch {
    return null;
  }
}

const { resolve4, resolve6 } = dns.Resolver.prototype as unknown as Record<'resolve4' | 'resolve6', Resolve>;
Object.assign(dns.Resolver.prototype, {
  resolve4: replacing(resolve4, [ADDRESS]),
  resolve6: replacing(resolve6, []),
});
