/** Stops whatever a program started, in reverse order, however the program ends. */
export class Teardown {
  readonly #parent: Teardown | null;
  readonly #stops: (() => Promise<unknown>)[] = [];
  readonly #starting = new Set<Promise<unknown>>();
  #ran: Promise<boolean> | undefined;

  /** @param parent runs this one too */
  constructor(parent: Teardown | null = null) {
    this.#parent = parent;
    parent?.onStop(() => this.run());
  }

  /** The teardown of the whole program. */
  get program(): Teardown {
    return this.#parent?.program ?? this;
  }

  /** Starts something that must be stopped, even if the end comes while it starts or has come before. */
  async start<Started>(
    starting: Promise<Started>,
    stop: (started: Started) => Promise<unknown>,
  ): Promise<Started> {
    if (this.#ran !== undefined) {
      await stop(await starting);
      throw new Error('The program is ending: nothing more is started');
    }
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

  /**
   * Stops everything, once. A stop that fails is reported on stderr and does not keep the others from running.
   * @returns whether all of them succeeded
   */
  run(): Promise<boolean> {
    this.#ran ??= this.#run();
    return this.#ran;
  }

  async #run(): Promise<boolean> {
    let succeeded = true;
    await Promise.all(this.#starting);
    for (let stop = this.#stops.pop(); stop !== undefined; stop = this.#stops.pop()) {
      try {
        if ((await stop()) === false) succeeded = false;
      } catch (error) {
        succeeded = false;
        process.stderr.write(`Cleanup failed: ${String(error)}\n`);
      }
    }
    return succeeded;
  }
}
