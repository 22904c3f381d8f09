import { Random } from './random.ts';

/**
 * What is wrong with a monitor of the neighbour. `redirecting`: its target redirects to a new name each time, whose name servers never
 * answer. `silent`: its target accepts connections and never answers. `unreadable`: no key opens its headers. `poison`: Postgres
 * refuses its results.
 */
export type NeighbourKind = 'redirecting' | 'silent' | 'unreadable' | 'poison';

/** A monitor of another account, which must not affect anybody else. */
export interface NeighbourPlan {
  /** Of the target, and the monitor's `externalId`. */
  readonly key: string;
  readonly kind: NeighbourKind;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
}

/** Far more slow checks at a time than the checkers of a campaign have places for fast ones. */
const COUNTS: Readonly<Record<NeighbourKind, number>> = {
  redirecting: 40,
  silent: 40,
  unreadable: 10,
  poison: 3,
};

/** The monitors of the neighbour: a pure function of the seed. */
export function planNeighbour(seed: number): NeighbourPlan[] {
  const random = new Random(seed, 'neighbour');
  const kinds = Object.keys(COUNTS) as NeighbourKind[];
  return kinds.flatMap((kind) =>
    Array.from({ length: COUNTS[kind] }, (_, index) => ({
      key: `${kind}-${index}`,
      kind,
      ...(kind === 'silent'
        ? { intervalSeconds: random.integer(30, 60), timeoutSeconds: 30 }
        : { intervalSeconds: 5, timeoutSeconds: 4 }),
    })),
  );
}
