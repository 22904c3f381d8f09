/** Below one success in so many requests that the model allows, a route is reported. */
const ENOUGH = 60;

/** Counts requests and responses. */
export class Tally {
  readonly #routes = new Map<string, Map<number, number>>();
  readonly #possible = new Map<string, { requests: number; successes: number }>();
  requests = 0;
  slowestMs = 0;

  add(route: string, status: number, durationMs: number): void {
    this.requests += 1;
    this.slowestMs = Math.max(this.slowestMs, durationMs);
    const statuses = this.#routes.get(route) ?? new Map<number, number>();
    this.#routes.set(route, statuses.set(status, (statuses.get(status) ?? 0) + 1));
  }

  /** Counts a request that schema and model allow. */
  addPossible(route: string, succeeded: boolean): void {
    const { requests, successes } = this.#possible.get(route) ?? { requests: 0, successes: 0 };
    this.#possible.set(route, { requests: requests + 1, successes: successes + (succeeded ? 1 : 0) });
  }

  /** Routes that refused many requests and accepted none: rules beyond the schemas cannot forbid everything. */
  neverSucceeded(): string[] {
    return [...this.#possible]
      .filter(([, { requests, successes }]) => requests >= ENOUGH && successes === 0)
      .map(
        ([route, { requests }]) => `${route} refused all ${requests} requests that schema and model allow`,
      );
  }

  /** How many responses had a 5xx status. */
  get serverErrors(): number {
    let sum = 0;
    for (const statuses of this.#routes.values())
      for (const [status, count] of statuses) if (status >= 500) sum += count;
    return sum;
  }

  /** A table in Markdown with a row for each route. */
  table(): string {
    const rows = [...this.#routes]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([route, statuses]) => {
        const counts = [...statuses].toSorted(([a], [b]) => a - b);
        const total = counts.reduce((sum, [, count]) => sum + count, 0);
        return `| \`${route}\` | ${total} | ${counts.map(([status, count]) => `${status}: ${count}`).join(', ')} |`;
      });
    return ['| route | requests | responses |', '| --- | --- | --- |', ...rows].join('\n');
  }
}
