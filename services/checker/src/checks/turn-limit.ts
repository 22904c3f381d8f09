/**
 * Limits how much begins before the event loop reads from sockets again, and keeps the order of the calls. Until it reads, received data
 * stays in kernel buffers. If that takes long, they overflow, and responses are lost.
 */
export class TurnLimit {
  readonly #perTurn: number;
  #left: number;
  readonly #waiting: (() => void)[] = [];
  #isCounting = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
    this.#left = perTurn;
  }

  /** Null if another one may begin now; otherwise resolves in the turn in which it may. */
  take(): Promise<void> | null {
    // Immediates run right after the callbacks of I/O, before sockets are read again. The second one runs after they were read.
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
