/** What has to be undone at the end, in reverse order, however the end comes about. */
export class Teardown {
  readonly #stops: (() => Promise<unknown>)[] = [];
  readonly #starting = new Set<Promise<unknown>>();
  #ran: Promise<void> | undefined;

  /** Starts something that has to be stopped; also if the end comes while it starts. */
  async start<Started>(
    starting: Promise<Started>,
    stop: (started: Started) => Promise<unknown>,
  ): Promise<Started> {
    const settled = starting.then(
      (started) => void this.#stops.push(() => stop(started)),
      () => undefined,
    );
    this.#starting.add(settled);
    await settled;
    this.#starting.delete(settled);
    return starting;
  }

  onStop(stop: () => Promise<unknown>): void {
    this.#stops.push(stop);
  }

  /** Undoes everything, once; what fails does not keep the rest from being undone. */
  run(): Promise<void> {
    this.#ran ??= this.#run();
    return this.#ran;
  }

  async #run(): Promise<void> {
    await Promise.all(this.#starting);
    for (const stop of this.#stops.splice(0).toReversed()) {
      await stop().catch((error: unknown) => process.stderr.write(`Cleaning up failed: ${String(error)}\n`));
    }
  }
}
