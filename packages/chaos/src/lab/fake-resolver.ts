import dns from 'node:dns';
import { existsSync } from 'node:fs';

/*
 * Loaded into a service before its own code (`node --import`): names under `tocsin.test` resolve to this replica's own loopback address,
 * so that targets and receivers know who asks, or do not resolve at all while a certain file is there. The system's resolver
 * cannot be changed for one process; this stands in for it at the one function that services ask, `dns.lookup`.
 */

const ADDRESS = process.env['CHAOS_ADDRESS'] ?? '127.0.0.1';
const DOWN_FILE = process.env['CHAOS_DNS_DOWN_FILE'] ?? '';
const ZONE = '.tocsin.test';

type Callback = (error: NodeJS.ErrnoException | null, addresses?: unknown, family?: number) => void;

const real = dns.lookup;

function lookup(hostname: string, options: unknown, callback?: Callback): void {
  const answer = (typeof options === 'function' ? options : callback) as Callback;
  if (!hostname.endsWith(ZONE)) {
    Reflect.apply(real, dns, callback === undefined ? [hostname, answer] : [hostname, options, answer]);
    return;
  }
  const all = typeof options === 'object' && options !== null && 'all' in options && options.all === true;
  setImmediate(() => {
    if (existsSync(DOWN_FILE)) {
      const error: NodeJS.ErrnoException = new Error(`getaddrinfo EAI_AGAIN ${hostname}`);
      answer(Object.assign(error, { code: 'EAI_AGAIN', syscall: 'getaddrinfo', hostname }));
    } else if (all) answer(null, [{ address: ADDRESS, family: 4 }]);
    else answer(null, ADDRESS, 4);
  });
}

Object.assign(dns, { lookup });
