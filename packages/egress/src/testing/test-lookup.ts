import type { LookupAddress } from 'node:dns';
import { createFairLookup, type LookupOwner } from '../dns/fair-lookup.ts';

const ADDRESS: LookupAddress = { address: '192.0.2.1', family: 4 };

interface Underway {
  readonly hostname: string;
  /** Reports the result while some queries have no response. */
  respond(): void;
  end(error?: NodeJS.ErrnoException): void;
  retry(inMs: number): void;
}

/** A fair lookup whose lookups end when the test ends them, on the clock of fake timers. */
export interface TestLookup {
  /** Lookups in progress, in the order in which they began. */
  readonly underway: Underway[];
  /** The names whose queries were repeated, in order. */
  readonly repeated: string[];
  /** The names that a forwarder still has queries for: it keeps those without a response for 10 s. */
  readonly kept: string[];
  readonly ask: (hostname: string, owner?: Partial<LookupOwner>, family?: number) => void;
  /** The names of the lookups in progress. */
  readonly names: () => string[];
  readonly end: (hostname: string) => Promise<void>;
}

interface TestLookupOptions {
  /** After how many milliseconds a lookup of a name ends without the test. Null: it does not. */
  readonly respondsAfterMs?: (hostname: string) => number | null;
  readonly onResult: (hostname: string, error: NodeJS.ErrnoException | null) => void;
}

export function createTestLookup({
  respondsAfterMs = () => null,
  onResult: report,
}: TestLookupOptions): TestLookup {
  const underway: Underway[] = [];
  const repeated: string[] = [];
  const kept: string[] = [];
  const lookup = createFairLookup({
    now: () => Date.now(),
    lookup: (hostname, _options, { onResult, onRetry, onEnd }) => {
      const close = (allResponded: boolean): void => {
        const index = underway.indexOf(one);
        if (index !== -1) underway.splice(index, 1);
        const keptForMs = allResponded ? 0 : startedAt + 10_000 - Date.now();
        if (keptForMs <= 0) unkeep();
        else setTimeout(unkeep, keptForMs);
        onEnd(allResponded);
      };
      const unkeep = (): void => void kept.splice(kept.indexOf(hostname), 1);
      const one: Underway = {
        hostname,
        respond: () => onResult(null, [ADDRESS]),
        end: (error) => {
          onResult(error ?? null, error ? [] : [ADDRESS]);
          close(true);
        },
        retry: onRetry,
      };
      const startedAt = Date.now();
      underway.push(one);
      kept.push(hostname);
      const afterMs = respondsAfterMs(hostname);
      const timer = afterMs === null ? undefined : setTimeout(() => one.end(), afterMs);
      return {
        repeat: () => repeated.push(hostname),
        stop: () => {
          clearTimeout(timer);
          close(false);
        },
      };
    },
  });
  return {
    underway,
    repeated,
    kept,
    ask: (hostname, owner = {}, family = 0) => {
      const whole = {
        account: 'one',
        resource: hostname,
        redirected: false,
        deadline: Date.now() + 20_000,
        ...owner,
      };
      lookup(hostname, { all: true, family }, whole, (error) => report(hostname, error));
    },
    names: () => underway.map(({ hostname }) => hostname),
    end: async (hostname) => {
      underway.find((one) => one.hostname === hostname)?.end();
      await settle();
    },
  };
}

export const many = (count: number, zone: string): string[] =>
  Array.from({ length: count }, (_, index) => `${index}.${zone}`);

/** Lets pending promises continue. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}
