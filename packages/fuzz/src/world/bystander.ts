import { readdir, readFile } from 'node:fs/promises';
import type { Account } from './account.ts';
import type { FuzzSystem } from './system.ts';

/** An ordinary client, who is to notice nothing of what others do to the api. */
export class Bystander {
  readonly #system: FuzzSystem;
  readonly #account: Account;

  constructor(system: FuzzSystem, account: Account) {
    this.#system = system;
    this.#account = account;
  }

  /** Asks as people do: reads, and writes. @throws Error where that does not work within `withinMs` */
  async ask(withinMs: number): Promise<void> {
    const base = `http://127.0.0.1:${this.#system.api.port}/api/cli/monitors`;
    const headers = {
      Authorization: `Bearer ${this.#account.key}`,
      'Content-Type': 'application/json',
      Connection: 'close',
    };
    const call = async (method: string, path: string, body?: object): Promise<unknown> => {
      const signal = AbortSignal.timeout(withinMs);
      const answer = await fetch(base + path, {
        method,
        headers,
        signal,
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return text === '' ? null : JSON.parse(text);
    };
    const { monitor } = (await call('POST', '', { name: 'bystander', url: 'https://a.invalid' })) as {
      monitor: { id: string };
    };
    await call('GET', `/${monitor.id}`);
    await call('DELETE', `/${monitor.id}`);
  }

  /** Resident memory of the api process. */
  async memoryMb(): Promise<number> {
    const status = await readFile(`/proc/${this.#system.api.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
  }

  /** File descriptors of the api process, connections among them. */
  async openFiles(): Promise<number> {
    return (await readdir(`/proc/${this.#system.api.pid}/fd`)).length;
  }
}
