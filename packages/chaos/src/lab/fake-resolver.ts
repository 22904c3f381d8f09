import dns from 'node:dns';
import { readFileSync, writeFileSync } from 'node:fs';

/*
 * Loaded into a service before its own code (`node --import`): names under `tocsin.test` resolve to this replica's own loopback address,
 * so that targets and receivers know who asks, or do not resolve while a certain file is there, at once or as if no name server answered; another file then tells that somebody met that. The system's resolver
 * cannot be changed for one process; this stands in for it at the one function that services ask, `dns.lookup`.
 */

const ADDRESS = process.env['CHAOS_ADDRESS'] ?? '127.0.0.1';
const DOWN_FILE = process.env['CHAOS_DNS_DOWN_FILE'] ?? '';
const ZONE = '.tocsin.test';
/** As the resolver of the C library has it: two tries of five seconds. */
const GIVES_UP_MS = 10_000;
const ASKS_AGAIN_MS = 250;

type Callback = (error: NodeJS.ErrnoException | null, addresses?: unknown, family?: number) => void;

const real = dns.lookup;

function lookup(hostname: string, options: unknown, callback?: Callback): void {
  const answer = (typeof options === 'function' ? options : callback) as Callback;
  if (!hostname.endsWith(ZONE)) {
    Reflect.apply(real, dns, callback === undefined ? [hostname, answer] : [hostname, options, answer]);
    return;
  }
  const all = typeof options === 'object' && options !== null && 'all' in options && options.all === true;
  const fail = (): void => {
    const error: NodeJS.ErrnoException = new Error(`getaddrinfo EAI_AGAIN ${hostname}`);
    answer(Object.assign(error, { code: 'EAI_AGAIN', syscall: 'getaddrinfo', hostname }));
  };
  const askedAt = performance.now();
  const look = (): void => {
    const trouble = readTrouble();
    if (trouble !== null) writeFileSync(`${DOWN_FILE}.met`, '');
    if (trouble === null) {
      if (all) answer(null, [{ address: ADDRESS, family: 4 }]);
      else answer(null, ADDRESS, 4);
    } else if (trouble === 'fail' || performance.now() - askedAt > GIVES_UP_MS) fail();
    else setTimeout(look, ASKS_AGAIN_MS);
  };
  setImmediate(look);
}

/** @returns null where names resolve */
function readTrouble(): string | null {
  try {
    return readFileSync(DOWN_FILE, 'utf8');
  } catch {
    return null;
  }
}

Object.assign(dns, { lookup });
