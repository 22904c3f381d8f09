/**
 * The outcome of a connection to a URL if only the public server of the attack ground is allowed:
 * `blocked`: the guard refuses it; `public`: it goes to the public server; `unknown name`: its name does not resolve;
 * `no URL`: it is not an http or https URL, so there is nothing to connect to.
 */
export type Outcome = 'blocked' | 'public' | 'unknown name' | 'no URL';

/** One way of writing an address that a user gives, and its required outcome. */
export interface AttackVector {
  /** The class of attacks it belongs to. */
  readonly kind: string;
  /** As written by the attacker. `PORT` stands for the port that canary and public server listen on. */
  readonly url: string;
  readonly outcome: Outcome;
  /** The API accepts it as the URL of a monitor. Otherwise it responds with 400. */
  readonly accepted: boolean;
}

/** Vectors of one class with one outcome. @param accepted default: every valid URL */
export function vectors(
  kind: string,
  outcome: Outcome,
  urls: readonly string[],
  accepted: boolean = outcome !== 'no URL',
): AttackVector[] {
  return urls.map((url) => ({ kind, url, outcome, accepted }));
}

/** Vectors of several classes with one outcome, without white space. @param classes the words that `toUrl` makes URLs of, by class */
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

/** At the canary's port. */
export const atHost = (host: string): string => `http://${host}:PORT/`;

export const asWritten = (url: string): string => url;
