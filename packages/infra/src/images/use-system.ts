import { setTimeout as wait } from 'node:timers/promises';
import type { Container } from './container.ts';

const WITHIN_MS = 60_000;

export interface SystemUse {
  readonly url: string;
  readonly apiKey: string;
  /** Something to watch. */
  readonly targetUrl: string;
  readonly containers: readonly Container[];
}

/** Waits until all are well, has a monitor checked, and asks for the dashboard. @throws Error that says what did not come about */
export async function useSystem({ url, apiKey, targetUrl, containers }: SystemUse): Promise<void> {
  const output = (): string => containers.map(({ said }) => said.slice(-2_000)).join('\n');
  const request = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(url + path, {
      ...init,
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
    });
  for (const container of containers)
    await until('its health check to pass', output, () => container.isHealthy());
  await until('the api to be ready', output, async () => (await request('/readyz')).ok);

  const body = JSON.stringify({ name: 'A target', url: targetUrl, interval: 30 });
  const created = await request('/api/cli/monitors', { method: 'POST', body });
  if (created.status !== 201)
    throw new Error(`creating a monitor: ${created.status} ${await created.text()}`);
  const { monitor } = (await created.json()) as { monitor: { id: string } };
  await until('a check to be recorded', output, async () => {
    const { events } = (await (await request(`/api/cli/monitors/${monitor.id}`)).json()) as {
      events: { status: string }[];
    };
    return events[0]?.status === 'UP';
  });

  const page = await request('/');
  if (!page.ok || !(await page.text()).toLowerCase().includes('<!doctype html>'))
    throw new Error(`the dashboard: ${page.status}`);
}

async function until(what: string, output: () => string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + WITHIN_MS;
  while (!(await holds().catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`not within ${WITHIN_MS} ms: ${what}\n${output()}`);
    await wait(100);
  }
}
