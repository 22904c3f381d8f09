/**
 * Limits how much begins before the event loop reads what has arrived, in the order of the calls. Received data stays in the buffers of the
 * kernel until then. If that takes long, the buffers overflow, and responses are lost.
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
    // A callback of I/O runs just before immediates, so the first of them would begin too early.
    if (!this.#isCounting) setImmediate(() => setImmediate(() => this.#startTurn()));
    this.#isCounting = true;
    if (this.#left === 0) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#left -= 1;
    return null;
  }

  #startTurn(): void {
    const due = this.#waiting.splice(0, this.#perTurn);
    this.#left = this.#perTurn - due.length;
    this.#isCounting = due.length > 0;
    if (this.#isCounting) setImmediate(() => this.#startTurn());
    for (const begin of due) begin();
  }
}
