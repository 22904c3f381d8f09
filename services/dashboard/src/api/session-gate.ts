/** Routes that work without a session, so that the user can sign in again. */
const OPEN = /^\/api\/(?:auth\/(?:sign-in|get-session)|dashboard\/sign-in-methods)/;

/**
 * Holds requests back while the session of the open page has ended, so that a form is not lost. They are sent once the user has signed in
 * again. Repeating them is safe, because the API rejects them before anything else.
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
   * Starts holding requests, for pages that let the user sign in again.
   * @param userId the user who opened the page
   * @returns a function that stops
   */
  guard(userId: string): () => void {
    this.#isGuarding = true;
    this.#userId = userId;
    return () => {
      this.open(false);
      this.#userId = null;
    };
  }

  /** Returns the user as whom a request must be authenticated, or null for any user. */
  userOf(path: string): string | null {
    return OPEN.test(path) ? null : this.#userId;
  }

  /**
   * Call after a 401.
   * @returns true if the request should be sent again. Resolves when the user signs in again (true) or leaves the page (false)
   */
  end(path: string): Promise<boolean> {
    if (!this.#isGuarding || OPEN.test(path)) return Promise.resolve(false);
    this.#setEnded(true);
    return this.#wait();
  }

  /**
   * Call before each request.
   * @returns true if the request may be sent. After the session has ended, it resolves when the user signs in again (true) or leaves the
   * page (false)
   */
  pass(path: string): Promise<boolean> {
    return !this.#hasEnded || OPEN.test(path) ? Promise.resolve(true) : this.#wait();
  }

  /** @param isSignedIn false if the user leaves the page, so that requests fail with a 401 */
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
