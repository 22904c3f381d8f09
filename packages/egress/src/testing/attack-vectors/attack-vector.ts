/**
 * Outcome of a connection to a URL if only the public server of the attack ground is allowed. `blocked` means that the guard refuses it, and
 * `public` that it goes to the public server. `no URL` means that it is not an http or https URL.
 */
export type Outcome = 'blocked' | 'public' | 'unknown name' | 'no URL';

/** One notation of an address, with its required outcome. */
export interface AttackVector {
  /** Class of attack. */
  readonly kind: string;
  /** URL as the attacker writes it. `PORT` stands for the port of the canary and the public server. */
  readonly url: string;
  readonly outcome: Outcome;
  /** True if the API accepts it as the URL of a monitor. Otherwise the API responds with 400. */
  readonly accepted: boolean;
}

/** Creates vectors of one class with one outcome. @param accepted defaults to every valid URL */
export function vectors(
  kind: string,
  outcome: Outcome,
  urls: readonly string[],
  accepted: boolean = outcome !== 'no URL',
): AttackVector[] {
  return urls.map((url) => ({ kind, url, outcome, accepted }));
}

/** Makes vectors of several classes with one outcome. @param classes words by class, separated by white space. `toUrl` makes URLs of them */
export function vectorsOf(
  outcome: Outcome,
  toUrl: (word: string) => string,
  classes: Readonly<Record<string, string>>,
  accepted?: boolean,
): AttackVector[] {
  return Object.entries(classes).flatMap(([kind, words]) =>
    vectors(kind, outcome, words.trim().split(/\s+/).map(toUrl), accepted),
  );
}

export const atHost = (host: string): string => `http://${host}:PORT/`;

export const asWritten = (url: string): string => url;
