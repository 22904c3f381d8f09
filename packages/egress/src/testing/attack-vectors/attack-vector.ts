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
  /** Whether the API accepts it as the URL of a monitor; otherwise it responds with 400. */
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

/** `http` URLs of the hosts in a text, at the canary's port. */
export function atHosts(hosts: string): string[] {
  return words(hosts).map((host) => `http://${host}:PORT/`);
}

export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
