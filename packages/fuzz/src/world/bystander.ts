import { readFile } from 'node:fs/promises';
import type { ServiceProcess } from '@tocsin/e2e/service-process';
import type { Account } from './account.ts';

/** An ordinary client, who is to notice nothing of what others do to the api. */
export class Bystander {
  readonly #api: ServiceProcess;
  readonly #account: Account;

  constructor(api: ServiceProcess, account: Account) {
    this.#api = api;
    this.#account = account;
  }

  /** Asks as people do: reads, and writes. @throws Error where that does not work */
  async ask(): Promise<void> {
    const base = `http://127.0.0.1:${this.#api.port}/api/cli/monitors`;
    const headers = {
      Authorization: `Bearer ${this.#account.key}`,
      'Content-Type': 'application/json',
      Connection: 'close',
    };
    const call = async (method: string, path: string, body?: object): Promise<unknown> => {
      const answer = await fetch(base + path, {
        method,
        headers,
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
    const status = await readFile(`/proc/${this.#api.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
  }
}
