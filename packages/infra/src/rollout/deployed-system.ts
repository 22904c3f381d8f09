import type { Flapping, OutsideLog } from './outside.ts';

/** Tocsin as it runs in containers or pods, and everything that the tests of a rollout ask of the platform. */
export interface DeployedSystem {
  /** Where the API and the dashboard listen on this machine. It can change when parts are replaced. */
  readonly port: number;
  /** PUBLIC_URL of the api: the origin of its pages. */
  readonly publicUrl: string;
  /** A key with the scope `write`. */
  readonly apiKey: string;
  readonly admin: { readonly email: string; readonly password: string };
  readonly outside: OutsideClient;
  /** Runs a query on its Postgres. Returns the rows, with values as `json_agg` represents them. */
  query(sql: string): Promise<unknown>;
  /** Applies a file of monitors with the image of the CLI. Returns its output. */
  apply(yaml: string): Promise<string>;
  /** Runs a command in a part. Returns its output. */
  exec(part: string, command: readonly string[]): Promise<string>;
  /** Stops a part, a container or a pod, by SIGTERM. Resolves when it, or its replacement, is ready. */
  replace(part: string): Promise<void>;
  /** Brings every service to the new image. Resolves when all are ready. */
  upgrade(): Promise<void>;
}

/** Where monitors and channels of the system find the targets and the receiver. */
export const TARGET_URL = 'http://outside:8080/m/';
export const RECEIVER_URL = 'https://outside:8443/webhooks';

/** Controls the process of `outside.ts`. */
export class OutsideClient {
  readonly #url: () => string;

  /** @param url of its port 8080, as this process reaches it; asked for with every request */
  constructor(url: () => string) {
    this.#url = url;
  }

  async flap(flapping: Flapping): Promise<void> {
    await this.#request('/flap', { method: 'POST', body: JSON.stringify(flapping) });
  }

  /** Lets the target of this name respond with a status code from now on. */
  async setStatus(target: string, statusCode: number): Promise<void> {
    await this.#request(`/status/${target}/${statusCode}`, { method: 'POST' });
  }

  async readLog(): Promise<OutsideLog> {
    return (await (await this.#request('/log')).json()) as OutsideLog;
  }

  async #request(path: string, init?: RequestInit): Promise<Response> {
    const response = await fetch(this.#url() + path, init);
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return response;
  }
}

/** Calls the REST API with the system's key. */
export async function callApi(
  { port, apiKey }: Pick<DeployedSystem, 'port' | 'apiKey'>,
  method: string,
  path: string,
  body?: object,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { Authorization: `Bearer ${apiKey}`, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
}
