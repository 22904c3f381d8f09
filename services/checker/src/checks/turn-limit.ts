/** Limits how many tasks start before the event loop reads from sockets again. Otherwise kernel buffers overflow. */
export class TurnLimit {
  readonly #perTurn: number;
  #left: number;
  readonly #waiting: (() => void)[] = [];
  #isCounting = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
    this.#left = perTurn;
  }

  /** Returns null if the task may start now. Otherwise resolves when it may. */
  take(): Promise<void> | null {
    // Immediates run right after I/O callbacks, before sockets are read again. The second one runs after that.
    if (!this.#isCounting) setImmediate(() => setImmediate(() => this.#startTurn()));
    this.#isCounting = true;
    if (this.#left === 0) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#left -= 1;
    return null;
  }

  #startTurn(): void {
    const due = this.#waiting.splice(0, this.#perTurn);
    this.#isCounting = due.length > 0;
    if (this.#isCounting) setImmediate(() => this.#startTurn());
    else this.#left = this.#perTurn;
    for (const begin of due) begin();
  }
}
