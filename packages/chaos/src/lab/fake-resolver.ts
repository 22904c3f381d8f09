import dns from 'node:dns';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { hungFile } from './hung-file.ts';

/*
 * Loaded into a service before its own code (`node --import`). Names under `tocsin.test` resolve to this replica's own loopback address, so
 * that targets and receivers know who asks. While a certain file exists they do not resolve: its content says whether name servers fail at
 * once or do not answer, and another file then records that a lookup met this. Names under `hang.tocsin.test` are never answered; a file has
 * one byte for each time that this replica asked for one. The system's resolver cannot be changed for one process, so this replaces the functions by which services ask name servers.
 */

const ADDRESS = process.env['CHAOS_ADDRESS'] ?? '127.0.0.1';
const DOWN_FILE = process.env['CHAOS_DNS_DOWN_FILE'] ?? '';
const ZONE = '.tocsin.test';
const HANGING_ZONE = '.hang.tocsin.test';
/** One question, as c-ares gives it up. The services ask again until the deadline of the lookup, 10 s at most. */
const GIVES_UP_MS = 5_000;
const ASKS_AGAIN_MS = 250;

type Callback = (error: NodeJS.ErrnoException | null, addresses: string[]) => void;
type Resolve = (hostname: string, callback: Callback) => void;

/** @param addresses of every name of the zone */
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
      appendFileSync(hungFile(DOWN_FILE, ADDRESS), '.');
      setTimeout(fail, GIVES_UP_MS, dns.TIMEOUT);
      return;
    }
    const askedAt = performance.now();
    const look = (): void => {
      const trouble = readTrouble();
      if (trouble !== null) writeFileSync(`${DOWN_FILE}.met`, '');
      if (trouble === null) {
        if (addresses.length > 0) callback(null, addresses);
        else fail(dns.NODATA);
      } else if (trouble === 'fail') fail(dns.SERVFAIL);
      else if (performance.now() - askedAt > GIVES_UP_MS) fail(dns.TIMEOUT);
      else setTimeout(look, ASKS_AGAIN_MS);
    };
    setImmediate(look);
  };
}

/** @returns null where names resolve */
function readTrouble(): string | null {
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
