/** Namespaces whose monitors must be compared, each at most once, with the time when that is due. */
export class WorkQueue {
  readonly #dueAt = new Map<string, number>();
  readonly #running = new Set<string>();

  /** Namespaces that are due or being worked on. */
  pending(now: number): number {
    return [...this.#dueAt.values()].filter((at) => at <= now).length + this.#running.size;
  }

  /** The earliest time counts. @param at epoch milliseconds */
  add(namespace: string, at: number): void {
    this.#dueAt.set(namespace, Math.min(at, this.#dueAt.get(namespace) ?? Infinity));
  }

  /** Takes a namespace that is due and not being worked on, or returns null. Call `done` afterwards. */
  take(now: number, maxRunning: number): string | null {
    if (this.#running.size >= maxRunning) return null;
    let first: string | null = null;
    let firstAt = now;
    for (const [namespace, at] of this.#dueAt) {
      if (at > firstAt || this.#running.has(namespace)) continue;
      first = namespace;
      firstAt = at;
    }
    if (first === null) return null;
    this.#dueAt.delete(first);
    this.#running.add(first);
    return first;
  }

  done(namespace: string): void {
    this.#running.delete(namespace);
  }
}
