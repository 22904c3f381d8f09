import { until } from '@tocsin/embedded/testing/until';
import { openSession, type DashboardRequest } from '@tocsin/lab/dashboard-session';
import { z } from 'zod';
import { failuresOf } from '../failures.ts';
import type { Flapping, OutsideLog } from './outside.ts';

/** Where monitors and channels find the targets and the receiver of `outside.ts`. */
export const TARGET_URL = 'http://outside:8080/m/';
export const RECEIVER_URL = 'https://outside:8443/webhooks';
/** A request can hang while containers and ports are replaced. */
const REQUEST_TIMEOUT_MS = 60_000;
const LOG_TIMEOUT_MS = 10_000;
/** The user whom the api creates when it starts. */
export const ADMIN = { email: 'admin@example.com', password: 'correct horse battery' };
/** `query` in a container with PostgreSQL. */
const PSQL =
  'PGPASSWORD="$POSTGRES_PASSWORD" psql --host=127.0.0.1 --username=tocsin --dbname=tocsin -At -c "$1"';

/** Tocsin in containers or pods, with targets and a receiver in one more container. */
export abstract class DeployedSystem {
  /** The port of the api on this machine. It can change when parts are replaced. */
  abstract readonly port: number;
  abstract readonly publicUrl: string;
  /** A key with the scope `write`. */
  abstract readonly apiKey: string;
  /** The port 8080 of `outside.ts`, on this machine. */
  protected abstract readonly outsidePort: number;
  protected abstract readonly postgres: string;

  /** Runs a command in a part, a container or a pod. Returns its output. */
  abstract exec(part: string, command: readonly string[]): Promise<string>;
  /** Applies a file of monitors with the image of the CLI. */
  abstract apply(yaml: string): Promise<unknown>;
  /** Stops a part by SIGTERM. Resolves when it, or its replacement, is ready. */
  abstract replace(part: string): Promise<void>;
  /** Brings every service to the new image. Resolves when all are ready. */
  abstract upgrade(): Promise<void>;

  /** Runs a query on Postgres. Returns the rows, with values as `json_agg` represents them. */
  async query<Row>(row: z.ZodType<Row>, sql: string): Promise<Row[]> {
    const wrapped = `select coalesce(json_agg(rows), '[]') from (${sql}) as rows`;
    const output = await this.exec(this.postgres, ['sh', '-c', PSQL, 'sh', wrapped]);
    return z.array(row).parse(JSON.parse(output));
  }

  /** The number of rows that a query counts. */
  async count(sql: string): Promise<number> {
    const [row] = await this.query(z.object({ count: z.number() }), sql);
    return row?.count ?? 0;
  }

  /** Sends a request to the REST API. Returns the parsed body. @throws Error for another status */
  async callApi(method: string, path: string, status: number, body?: object): Promise<unknown> {
    const response = await fetch(`http://127.0.0.1:${this.port}/api/cli${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.apiKey}`,
        ...(body && { 'Content-Type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    return readBody(`${method} ${path}`, response, status);
  }

  /** Signs in to the dashboard. */
  async signIn(): Promise<DashboardRequest> {
    return (await openSession(this, ADMIN, this.publicUrl)).request;
  }

  /** Lets targets fail and recover in turns from now on. */
  async flap(flapping: Flapping): Promise<void> {
    await this.#callOutside('/flap', { method: 'POST', body: JSON.stringify(flapping) });
  }

  /** Lets the target of this name respond with a status code from now on. */
  async setStatus(target: string, statusCode: number): Promise<void> {
    await this.#callOutside(`/status/${target}/${statusCode}`, { method: 'POST' });
  }

  async readOutsideLog(): Promise<OutsideLog> {
    return (await (await this.#callOutside('/log')).json()) as OutsideLog;
  }

  async #callOutside(path: string, init?: RequestInit): Promise<Response> {
    const signal = AbortSignal.timeout(LOG_TIMEOUT_MS);
    const response = await fetch(`http://127.0.0.1:${this.outsidePort}${path}`, { ...init, signal });
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    return response;
  }
}

/** Returns the parsed body of a response, null without a body. @throws Error for another status */
export async function readBody(what: string, response: Response, status: number): Promise<unknown> {
  const text = await response.text();
  if (response.status !== status) throw new Error(`${what}: ${response.status} ${text.slice(0, 500)}`);
  return text === '' ? null : (JSON.parse(text) as unknown);
}

/** Waits for a condition. An error counts as false: containers and pods are unreachable while they start. */
export async function untilReachable(
  what: string,
  withinSeconds: number,
  isMet: () => Promise<boolean>,
): Promise<void> {
  let cause: unknown;
  const isTrue = (): Promise<boolean> =>
    isMet().catch((error: unknown) => {
      cause = error;
      return false;
    });
  await until(what, isTrue, withinSeconds * 1_000).catch((error: unknown) => {
    throw new Error(String(error), { cause });
  });
}

/** Runs in the container of a service. Without the restrictions of Compose or the chart, its user could write two of the paths. */
const PROBE = `
const { readFileSync, writeFileSync } = require('node:fs');
const status = readFileSync('/proc/1/status', 'utf8');
const field = (name) => new RegExp('^' + name + ':\\\\s*(\\\\S+)', 'm').exec(status)?.[1] ?? '';
let written = '';
for (const path of ['/app/probe', '/var/tmp/probe', '/home/node/probe']) {
  try { writeFileSync(path, ''); written = path; } catch {}
}
const command = readFileSync('/proc/1/cmdline', 'utf8');
console.log(JSON.stringify({ uid: field('Uid'), capabilities: field('CapBnd'), noNewPrivileges: field('NoNewPrivs'), written, command }));
`;
const probeSchema = z.object({
  uid: z.string(),
  capabilities: z.string(),
  noNewPrivileges: z.string(),
  written: z.string(),
  command: z.string(),
});

/** Inspects a running service from inside: its user, its capabilities, its file system, and whether it receives signals. */
export async function inspectHardening(system: DeployedSystem, service: string): Promise<string[]> {
  const output = await system.exec(service, ['node', '-e', PROBE]);
  const { uid, capabilities, noNewPrivileges, written, command } = probeSchema.parse(JSON.parse(output));
  return failuresOf([
    [uid === '1000', `${service} runs as user ${uid}`],
    [/^0+$/.test(capabilities), `${service} can get the capabilities ${capabilities}`],
    [noNewPrivileges === '1', `${service} can gain privileges`],
    [written === '', `${service} can write ${written}`],
    // A shell as PID 1 would not forward signals.
    [command.startsWith('node\0'), `${service} runs ${command} as PID 1`],
  ]);
}
