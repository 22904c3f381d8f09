import { setTimeout as wait } from 'node:timers/promises';
import { openSession } from '@tocsin/lab/dashboard-session';
import { PUBLIC_URL } from '@tocsin/lab/dashboard-session';
import type { Slot } from './slot.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

const ANSWER_WITHIN_MS = 30_000;
const REST_MS = 150;
/** The api takes only a few sign-ins in a row. */
const REST_AFTER_SIGN_IN_MS = 3_000;
const DASHBOARD = '/api/dashboard';

/** A client of the API that goes to another replica where one fails, as behind a load balancer. */
export class ApiClient {
  /** Answers by status; 0: none came. */
  readonly statuses = new Map<number, number>();
  readonly #slots: readonly Slot[];
  readonly #apiKey: string;
  #cookie = '';
  #signingIn: Promise<void> | undefined;
  #turn = 0;

  constructor(slots: readonly Slot[], apiKey: string) {
    this.#slots = slots;
    this.#apiKey = apiKey;
  }

  /** Signs in to the dashboard, for the paths under it. */
  async signIn(): Promise<void> {
    const port = this.#slots.find(({ isReady }) => isReady)?.port ?? 0;
    this.#cookie = (await openSession({ port })).cookie;
  }

  /** One request to one replica. @throws where it gives no answer */
  async send(slot: Slot, method: string, path: string, body?: object): Promise<ApiAnswer> {
    const headers = path.startsWith(DASHBOARD)
      ? { Cookie: this.#cookie, Origin: PUBLIC_URL }
      : { Authorization: `Bearer ${this.#apiKey}` };
    try {
      const response = await fetch(`http://127.0.0.1:${slot.port}${path}`, {
        method,
        headers: { ...headers, 'Content-Type': 'application/json' },
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      this.#count(response.status);
      return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
    } catch (error) {
      this.#count(0);
      throw error;
    }
  }

  /** A request that is repeated, at one replica or another, until one answers that it works. @throws where none does in time */
  async request(method: string, path: string, body?: object, withinMs = 600_000): Promise<ApiAnswer> {
    const deadline = Date.now() + withinMs;
    for (;;) {
      this.#turn += 1;
      const slot = this.#slots[this.#turn % this.#slots.length];
      try {
        if (slot?.isReady === true) {
          const cookie = this.#cookie;
          const answer = await this.send(slot, method, path, body);
          if (answer.status === 401 && path.startsWith(DASHBOARD)) await this.#signInAgain(slot, cookie);
          else if (answer.status < 500) return answer;
        }
      } catch {
        // Killed, stopped, or too slow: the next one.
      }
      if (Date.now() > deadline) throw new Error(`no answer to ${method} ${path} within ${withinMs} ms`);
      await wait(REST_MS);
    }
  }

  /**
   * To an api whose clock is far ahead a session has expired, and is deleted. One of that api's own is valid for the others too.
   * @param cookie that was refused: somebody else may have signed in since
   */
  async #signInAgain({ port }: Slot, cookie: string): Promise<void> {
    if (cookie !== this.#cookie) return;
    this.#signingIn ??= openSession({ port })
      .then((session) => void (this.#cookie = session.cookie))
      .catch(() => wait(REST_AFTER_SIGN_IN_MS))
      .finally(() => (this.#signingIn = undefined));
    await this.#signingIn;
  }

  #count(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}
