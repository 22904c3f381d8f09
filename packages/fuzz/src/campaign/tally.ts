/** What was asked and answered. */
export class Tally {
  readonly #routes = new Map<string, Map<number, number>>();
  requests = 0;
  slowestMs = 0;

  note(route: string, status: number, durationMs: number): void {
    this.requests += 1;
    this.slowestMs = Math.max(this.slowestMs, durationMs);
    const statuses = this.#routes.get(route) ?? new Map<number, number>();
    this.#routes.set(route, statuses);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  /** How many answers had a status from `from` on. */
  countFrom(from: number): number {
    let sum = 0;
    for (const statuses of this.#routes.values())
      for (const [status, count] of statuses) if (status >= from) sum += count;
    return sum;
  }

  get routes(): ReadonlyMap<string, ReadonlyMap<number, number>> {
    return this.#routes;
  }

  /** A table in Markdown: a line a route. */
  table(): string {
    const lines = [...this.#routes]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([route, statuses]) => {
        const sorted = [...statuses].toSorted(([one], [other]) => one - other);
        const total = sorted.reduce((sum, [, count]) => sum + count, 0);
        return `| \`${route}\` | ${total} | ${sorted.map(([status, count]) => `${status}: ${count}`).join(', ')} |`;
      });
    return ['| route | requests | answers |', '| --- | --- | --- |', ...lines].join('\n');
  }
}
