import { readFile } from 'node:fs/promises';
import { createCertificate } from '@tocsin/embedded/certificates';
import { until } from '@tocsin/embedded/testing/until';
import { z } from 'zod';
import { ApiClient } from '../api-client.ts';
import type { Queries } from '../stores.ts';
import type { OutsideLog, Turns } from './outside.ts';

/** URLs of `outside.ts`. */
export const targets = { url: (key: string): string => `http://outside:8080/m/${key}` };
export const receivers = { url: (key: string): string => `https://outside:8443/${key}` };
/** The compiled file, because a container runs it. */
const OUTSIDE = new URL('../../dist/rollout/outside.js', import.meta.url);
const READY_SECONDS = 120;
const LOG_TIMEOUT_MS = 10_000;
/** Runs a query in a container with PostgreSQL. */
const PSQL =
  'PGPASSWORD="$POSTGRES_PASSWORD" psql --host=127.0.0.1 --username=tocsin --dbname=tocsin -At -c "$1"';

/** The URL of the monitor in `tocsin.yaml`. */
export const APPLIED_URL = 'https://blog.example';
const APPLIED_FILE = `source: story\nmonitors:\n  - { externalId: blog, name: Blog, url: ${APPLIED_URL} }\n`;

/** Returns the files in the folder `/outside` by name, which are `outside.ts` with a new certificate, and a file of monitors. */
export async function outsideFiles(): Promise<Record<string, string>> {
  const { ca, key, cert } = await createCertificate(['outside']);
  const program = await readFile(OUTSIDE, 'utf8');
  const files = { 'ca.pem': ca, 'key.pem': key, 'cert.pem': cert, 'outside.mjs': program };
  return { ...files, 'tocsin.yaml': APPLIED_FILE };
}

/** Tocsin in containers or pods, with targets and a receiver in an additional container. */
export abstract class DeployedSystem implements Queries {
  /** Ports of this machine that lead to the api, and to port 8080 of `outside.ts`. */
  readonly port: number;
  protected readonly outsidePort: number;
  readonly #publicUrl: string;
  /** Has the scope `write`. */
  abstract readonly apiKey: string;
  /** The part with PostgreSQL. */
  protected abstract readonly postgres: string;
  #api: ApiClient | undefined;

  /** @param publicUrl the setting PUBLIC_URL of the api */
  protected constructor(port: number, outsidePort: number, publicUrl: string) {
    this.port = port;
    this.outsidePort = outsidePort;
    this.#publicUrl = publicUrl;
  }

  /** Returns the containers or pods that run our images. */
  abstract services(): Promise<readonly string[]>;
  /** Runs a command in a part. Returns its output. */
  abstract exec(part: string, command: readonly string[]): Promise<string>;
  /** Applies `tocsin.yaml` from `outsideFiles` with the CLI image. */
  abstract applyFile(): Promise<void>;
  /** Stops a part with SIGTERM. Resolves when the part or its replacement is ready. */
  abstract replace(part: string): Promise<unknown>;
  /** Brings every service to the new image. Resolves when all are ready. */
  abstract upgrade(): Promise<void>;

  /** Waits until the api and the targets can be reached from this machine. */
  async untilListening(): Promise<void> {
    await untilReachable('the ports to respond', READY_SECONDS, async () => {
      await this.readOutsideLog();
      return (await fetch(`http://127.0.0.1:${this.port}/readyz`)).ok;
    });
  }

  /** Runs a query on Postgres. Values are numbers, or strings and lists without quotes. Rows are as `json_agg` represents them. */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const literals = values.map((value) => `'${Array.isArray(value) ? `{${value.join()}}` : String(value)}'`);
    const filled = text.replaceAll(/\$(\d+)/g, (_, number: string) => literals[Number(number) - 1] ?? 'null');
    const wrapped = `select coalesce(json_agg(rows), '[]') from (${filled}) as rows`;
    return JSON.parse(await this.exec(this.postgres, ['sh', '-c', PSQL, 'sh', wrapped])) as Row[];
  }

  get api(): ApiClient {
    return (this.#api ??= new ApiClient([{ port: this.port, isReady: true }], this.apiKey, this.#publicUrl));
  }

  /**
   * Sends a request to the api, as the administrator below /api/dashboard, otherwise with the API key.
   * @returns the body, or null without one @throws Error for another status
   */
  async request(method: string, path: string, status: number, body?: object): Promise<unknown> {
    const response = await this.api.request(method, path, body);
    if (response.status === status) return response.body;
    const text = JSON.stringify(response.body).slice(0, 500);
    throw new Error(`${method} ${path}: ${response.status} ${text}`);
  }

  /** Changes which targets fail from now on. */
  async setTurns(turns: Turns): Promise<void> {
    await this.#callOutside('/turns', { method: 'POST', body: JSON.stringify(turns) });
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

/** Waits for a condition. An error counts as false, because containers and pods are unreachable while they start. */
export async function untilReachable(
  condition: string,
  withinSeconds: number,
  isMet: () => Promise<boolean>,
): Promise<void> {
  let cause: unknown;
  const isTrue = (): Promise<boolean> =>
    isMet().catch((error: unknown) => {
      cause = error;
      return false;
    });
  await until(condition, isTrue, withinSeconds * 1_000).catch((error: unknown) => {
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
console.log(JSON.stringify([field('Uid'), field('CapBnd'), field('NoNewPrivs'), written, command]));
`;
const probeSchema = z.tuple([z.string(), z.string(), z.string(), z.string(), z.string()]);

/** Inspects a running service from inside. Returns problems with its user, capabilities, file system and signals. */
export async function inspectHardening(system: DeployedSystem, service: string): Promise<string[]> {
  const output = await system.exec(service, ['node', '-e', PROBE]);
  const [uid, capabilities, noNewPrivileges, written, command] = probeSchema.parse(JSON.parse(output));
  const conditions: [isMet: boolean, problem: string][] = [
    [uid === '1000', `${service} runs as user ${uid}`],
    [/^0+$/.test(capabilities), `${service} can get the capabilities ${capabilities}`],
    [noNewPrivileges === '1', `${service} can gain privileges`],
    [written === '', `${service} can write ${written}`],
    // A shell as PID 1 would not forward signals.
    [command.startsWith('node\0'), `${service} runs ${command} as PID 1`],
  ];
  return conditions.flatMap(([isMet, problem]) => (isMet ? [] : [problem]));
}
