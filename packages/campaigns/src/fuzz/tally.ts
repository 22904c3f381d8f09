/** Report a route if it rejects at least this many requests that should be able to succeed, and accepts none. */
const MIN_REJECTIONS = 60;

export class Tally {
  requests = 0;
  serverErrors = 0;
  slowestMs = 0;
  readonly #possible = new Map<string, { requests: number; successes: number }>();

  add(status: number, durationMs: number): void {
    this.requests += 1;
    if (status >= 500) this.serverErrors += 1;
    this.slowestMs = Math.max(this.slowestMs, durationMs);
  }

  /** Counts a request that both the schema and the model allow. */
  addPossible(route: string, succeeded: boolean): void {
    const { requests, successes } = this.#possible.get(route) ?? { requests: 0, successes: 0 };
    this.#possible.set(route, { requests: requests + 1, successes: successes + Number(succeeded) });
  }

  /** Finds routes that rejected many possible requests and accepted none. Rules that the schemas do not state cannot forbid everything. */
  neverSucceeded(): string[] {
    return [...this.#possible]
      .filter(([, { requests, successes }]) => requests >= MIN_REJECTIONS && successes === 0)
      .map(
        ([route, { requests }]) => `${route} refused all ${requests} requests that schema and model allow`,
      );
  }
}
