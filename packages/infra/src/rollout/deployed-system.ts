import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
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

/**
 * Runs in the container and prints what it finds. Without the restrictions of Compose or the chart, its user could write two of the paths, and
 * its capabilities would be bounded by more than nothing.
 */
const PROBE = `
const { readFileSync, writeFileSync } = require('node:fs');
const status = readFileSync('/proc/1/status', 'utf8');
const field = (name) => new RegExp('^' + name + ':\\\\s*(\\\\S+)', 'm').exec(status)?.[1] ?? '';
let written = '';
for (const path of ['/app/probe', '/var/tmp/probe', '/home/node/probe']) {
  try { writeFileSync(path, ''); written = path; } catch {}
}
console.log(JSON.stringify({
  uid: field('Uid'), capabilities: field('CapBnd'), noNewPrivileges: field('NoNewPrivs'), written, command: readFileSync('/proc/1/cmdline', 'utf8'),
}));
`;
const probeSchema = z.object({
  uid: z.string(),
  capabilities: z.string(),
  noNewPrivileges: z.string(),
  written: z.string(),
  command: z.string(),
});

/**
 * Inspects a running service from inside. An empty result means that it is not root, has no capabilities, cannot write its file system, and
 * receives signals itself.
 */
export async function inspectHardening(system: DeployedSystem, service: string): Promise<string[]> {
  const probe = probeSchema.parse(JSON.parse(await system.exec(service, ['node', '-e', PROBE])));
  return [
    ...(probe.uid === '1000' ? [] : [`${service} runs as user ${probe.uid}`]),
    ...(/^0+$/.test(probe.capabilities) ? [] : [`${service} can get the capabilities ${probe.capabilities}`]),
    ...(probe.noNewPrivileges === '1' ? [] : [`${service} can gain privileges`]),
    ...(probe.written === '' ? [] : [`${service} can write ${probe.written}`]),
    // A shell as PID 1 would not forward signals.
    ...(probe.command.startsWith('node\0') ? [] : [`${service} runs ${probe.command} as PID 1`]),
  ];
}

const POLL_MS = 250;

/**
 * Waits until a condition holds. A check that throws counts as one that does not hold: containers and pods are
 * unreachable while they start. Polls slowly, because each check starts a process.
 * @throws Error that names the condition and what the last check threw
 */
export async function waitUntil(
  what: string,
  withinSeconds: number,
  holds: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + withinSeconds * 1_000;
  let cause: unknown;
  for (;;) {
    try {
      if (await holds()) return;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > deadline) throw new Error(`not within ${withinSeconds} s: ${what}`, { cause });
    await wait(POLL_MS);
  }
}
