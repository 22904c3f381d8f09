/** A route that refused at least this many possible requests and accepted none is reported. */
const MIN_REFUSALS = 60;

/** Counts requests and responses. */
export class Tally {
  requests = 0;
  /** Responses with a 5xx status. */
  serverErrors = 0;
  slowestMs = 0;
  readonly #statuses = new Map<string, Map<number, number>>();
  readonly #possible = new Map<string, { requests: number; successes: number }>();

  add(route: string, status: number, durationMs: number): void {
    this.requests += 1;
    if (status >= 500) this.serverErrors += 1;
    this.slowestMs = Math.max(this.slowestMs, durationMs);
    const statuses = this.#statuses.get(route) ?? new Map<number, number>();
    this.#statuses.set(route, statuses.set(status, (statuses.get(status) ?? 0) + 1));
  }

  /** Counts a request that schema and model allow. */
  addPossible(route: string, succeeded: boolean): void {
    const { requests, successes } = this.#possible.get(route) ?? { requests: 0, successes: 0 };
    this.#possible.set(route, { requests: requests + 1, successes: successes + Number(succeeded) });
  }

  /** Routes that refused many requests and accepted none: rules beyond the schemas cannot forbid everything. */
  neverSucceeded(): string[] {
    return [...this.#possible]
      .filter(([, { requests, successes }]) => requests >= MIN_REFUSALS && successes === 0)
      .map(
        ([route, { requests }]) => `${route} refused all ${requests} requests that schema and model allow`,
      );
  }

  /** A table in Markdown with a row for each route. */
  table(): string {
    const rows = [...this.#statuses]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([route, statuses]) => {
        const counts = [...statuses].toSorted(([a], [b]) => a - b);
        const total = counts.reduce((sum, [, count]) => sum + count, 0);
        return `| \`${route}\` | ${total} | ${counts.map(([status, count]) => `${status}: ${count}`).join(', ')} |`;
      });
    return ['| route | requests | responses |', '| --- | --- | --- |', ...rows].join('\n');
  }
}
