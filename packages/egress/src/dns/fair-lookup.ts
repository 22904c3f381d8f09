import { FairShares } from '@tocsin/runtime/fair-shares';
import { KnownNames } from './known-names.ts';
import { lookupError } from './name-lookup.ts';
import type { LookupAll, StartLookup } from './name-resolver.ts';
import { ServerLoad } from './server-load.ts';
import {
  HANGS_AFTER_MS,
  type LookupCallback,
  type LookupOwner,
  shareLookup,
  type SharedLookup,
} from './shared-lookup.ts';

export type { LookupOwner } from './shared-lookup.ts';

export type OwnedLookup = (
  hostname: string,
  options: Parameters<LookupAll>[1],
  owner: LookupOwner,
  callback: LookupCallback,
) => void;

/** Concurrent lookups of names that resolved the last time. A hanging lookup stops counting after a second. */
const MAX_KNOWN_LOOKUPS = 1_000;

/**
 * Looks up names so that lookups of one account do not delay or fail those of others (docs/adr/0014-fair-shares.md). Concurrent callers of an
 * account share one lookup of a name, and names that resolved the last time do not wait for hanging ones. While the lookups of this process
 * overload the name servers, these names resolve to their last addresses. A lookup that cannot begin in time fails with `EAI_AGAIN`.
 */
export function createFairLookup(
  lookup: StartLookup,
  now: () => number = () => performance.now(),
  load: ServerLoad = new ServerLoad(now),
): OwnedLookup {
  const known = new FairShares(MAX_KNOWN_LOOKUPS, { isGuaranteed: true });
  const names = new KnownNames(now);
  /** Running lookups by account, name and options. */
  const running = new Map<string, SharedLookup>();

  return (hostname, options, owner, callback) => {
    const { account, resource: line } = owner;
    const name = `${hostname} ${options.family ?? 0} ${options.hints ?? 0}`;
    const key = `${account} ${name}`;
    const join = (): boolean => {
      const shared = running.get(key);
      shared?.join(owner, callback);
      return shared !== undefined;
    };
    const begin = async (): Promise<void> => {
      const isKnown = names.get(account, name) !== null;
      const askedAt = now();
      // A later start may leave too little time for a response.
      const leftMs = Math.max(0, owner.deadline - askedAt);
      const withinMs = Math.max(leftMs / 4, leftMs - HANGS_AFTER_MS);
      owner.onWaiting?.(() => true);
      const release = await (isKnown ? known : load.newNames).acquire(account, { withinMs, line });
      if (release === null) return callback(lookupError('EAI_AGAIN', hostname), []);
      owner.onBegin?.(now() - askedAt);
      // Another caller may have started the lookup in the meantime.
      if (join()) return release();
      const shared = shareLookup({
        hostname,
        isKnown,
        release,
        now,
        isOverloaded: () => load.isOverloaded,
        lastAddresses: () => names.get(account, name),
        onResult: (error, addresses, isRedirected) => {
          if (error === null) names.note(account, name, addresses, isRedirected);
          else names.forget(account, name);
        },
        onResponse: (response) => load.note(account, response, running.size),
        onOver: () => void running.delete(key),
      });
      running.set(key, shared);
      shared.join(owner, callback);
      shared.start((events) => lookup(hostname, options, events));
    };
    if (!join()) void begin();
  };
}
