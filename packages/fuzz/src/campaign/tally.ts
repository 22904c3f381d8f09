/** One request in ten works where the most is left to rules that no schema says. */
const ENOUGH = 60;

/** What was asked and answered. */
export class Tally {
  readonly #routes = new Map<string, Map<number, number>>();
  readonly #hopes = new Map<string, { asked: number; worked: number }>();
  requests = 0;
  slowestMs = 0;

  note(route: string, status: number, durationMs: number): void {
    this.requests += 1;
    this.slowestMs = Math.max(this.slowestMs, durationMs);
    const statuses = this.#routes.get(route) ?? new Map<number, number>();
    this.#routes.set(route, statuses);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  /** Of a request that nothing forbids as far as schema and model tell: whether it worked. */
  hope(route: string, worked: boolean): void {
    const hopes = this.#hopes.get(route) ?? { asked: 0, worked: 0 };
    this.#hopes.set(route, hopes);
    hopes.asked += 1;
    if (worked) hopes.worked += 1;
  }

  /** Routes that refused whatever was asked of them, many times over: rules beyond the schemas cannot forbid everything. */
  neverWorked(): string[] {
    return [...this.#hopes]
      .filter(([, { asked, worked }]) => asked >= ENOUGH && worked === 0)
      .map(([route, { asked }]) => `${route} refused all of ${asked} requests that nothing forbids`);
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
