import type { agentTokenRoutes } from '@tocsin/contracts/agents/routes';
import type { monitorRoutes } from '@tocsin/contracts/monitors/routes';
import type { regionRoutes } from '@tocsin/contracts/regions/routes';
import { createClient, type Client } from '@tocsin/contracts/routes/client';

export type DemoApi = Client<typeof monitorRoutes & typeof regionRoutes & typeof agentTokenRoutes>;

export function createDemoApi(url: string, apiKey: string): DemoApi {
  return createClient(async ({ method, path, body }) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json: unknown = await response.json();
    if (response.ok) return json;
    throw new Error(`${method} ${path} failed with ${response.status}: ${JSON.stringify(json)}`);
  });
}
