/** Routes that work without a session, with which the user signs in again. */
const OPEN = /^\/api\/(?:auth\/(?:sign-in|get-session)|dashboard\/sign-in-methods)/;

/**
 * Holds requests back while the session of the open page has ended, so that a form is not lost: they are sent once the user has signed in
 * again. Repeating them is safe, because the API refuses them before anything else.
 */
class SessionGate {
  #isGuarding = false;
  #userId: string | null = null;
  #hasEnded = false;
  readonly #waiting = new Set<(isSignedIn: boolean) => void>();
  readonly #listeners = new Set<() => void>();

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /**
   * Starts to hold requests back, for pages that let the user sign in again.
   * @param userId whom the open page belongs to
   * @returns a function that stops it
   */
  guard(userId: string): () => void {
    this.#isGuarding = true;
    this.#userId = userId;
    return () => {
      this.open(false);
      this.#userId = null;
    };
  }

  /** The user in whose name a request is sent; null: whoever is signed in. */
  userOf(path: string): string | null {
    return OPEN.test(path) ? null : this.#userId;
  }

  /** After a 401. @returns whether to send the request again, once the user has decided */
  end(path: string): Promise<boolean> {
    if (!this.#isGuarding || OPEN.test(path)) return Promise.resolve(false);
    this.#setEnded(true);
    return this.#wait();
  }

  /** Before a request. @returns whether to send it, once the user has decided */
  pass(path: string): Promise<boolean> {
    return !this.#hasEnded || OPEN.test(path) ? Promise.resolve(true) : this.#wait();
  }

  /** @param isSignedIn false: the user leaves the page instead, and requests fail with their 401 */
  open(isSignedIn: boolean): void {
    if (!isSignedIn) this.#isGuarding = false;
    this.#setEnded(false);
    for (const resolve of this.#waiting) resolve(isSignedIn);
    this.#waiting.clear();
  }

  /** @returns a function that unsubscribes */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #wait(): Promise<boolean> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  #setEnded(hasEnded: boolean): void {
    if (hasEnded === this.#hasEnded) return;
    this.#hasEnded = hasEnded;
    for (const listener of this.#listeners) listener();
  }
}

export const sessionGate = new SessionGate();
