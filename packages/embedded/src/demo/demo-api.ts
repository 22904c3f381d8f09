import type { Monitor } from '@tocsin/contracts/monitors/monitor';

/** The few requests of the demo to the API. */
export class DemoApi {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = `${url}/api/cli/monitors`;
    this.#key = key;
  }

  async createMonitor(fields: Record<string, unknown>): Promise<void> {
    await this.#request('POST', fields);
  }

  async listMonitors(): Promise<Monitor[]> {
    return ((await this.#request('GET')) as { monitors: Monitor[] }).monitors;
  }

  async #request(method: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.#url, {
      method,
      headers: { Authorization: `Bearer ${this.#key}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok)
      throw new Error(`${method} ${this.#url} answered ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }
}
