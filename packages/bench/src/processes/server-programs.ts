import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findExecutable } from '@tocsin/embedded/executables';
import { findFreePort } from '@tocsin/embedded/ports';
import { UsageError } from '@tocsin/embedded/program/run-program';
import { seenBefore } from '@tocsin/embedded/testing/until';
import type { Bench } from '../scenarios/scenario.ts';

/* Servers from Debian packages. */

const READY_WITHIN_MS = 60_000;
const QUOTED_CHARACTERS = 2_000;

/** Finds a program in the Debian package of the same name. @throws UsageError without it */
export function requireProgram(name: string): string {
  // Servers are in /usr/sbin, which only root has in its PATH.
  const program = findExecutable([name], `${process.env['PATH'] ?? ''}:/usr/sbin`);
  if (program === null) throw new UsageError(`${name} is not installed: apt-get install ${name}`);
  return program;
}

export interface ServerProgram {
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a server, and waits until it is ready.
 * @param folder its working directory
 * @throws Error if it ends before it is ready, with its output
 */
export async function startServer(
  { teardown }: Bench,
  program: string,
  args: readonly string[],
  folder: string,
  isReady: () => Promise<boolean>,
): Promise<ServerProgram> {
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (bytes: Buffer) => {
    output = `${output}${String(bytes)}`.slice(-QUOTED_CHARACTERS);
  });
  const exit = once(child, 'exit');
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const stop = async (): Promise<void> => {
    child.kill();
    await exit;
  };
  teardown.onStop(stop);
  const isUp = await seenBefore(Date.now() + READY_WITHIN_MS, async () => hasEnded() || (await isReady()));
  if (isUp === null || hasEnded()) throw new Error(`${program} is not ready. Its last output:\n${output}`);
  return { pid: child.pid ?? 0, stop };
}

export interface Prometheus extends ServerProgram {
  readonly dataFolder: string;
  /** Returns the first value of a PromQL expression, now or at a time in epoch milliseconds. NaN without one. */
  readonly query: (expression: string, at?: number) => Promise<number>;
}

/**
 * Starts Prometheus, and waits until a query has a positive value.
 * @param folder gets its files
 */
export async function startPrometheus(
  bench: Bench,
  folder: string,
  scrapeConfig: object,
  readyQuery: string,
): Promise<Prometheus> {
  const address = `127.0.0.1:${await findFreePort()}`;
  const own = join(folder, `prometheus-${Date.now()}`);
  await mkdir(own);
  // JSON is YAML.
  await writeFile(join(own, 'prometheus.yml'), JSON.stringify({ scrape_configs: [scrapeConfig] }));
  const query = async (expression: string, at = Date.now()): Promise<number> => {
    const url = `http://${address}/api/v1/query?query=${encodeURIComponent(expression)}&time=${at / 1_000}`;
    const response = await fetch(url).catch(() => null);
    // While it starts, it does not listen, or responds with 503.
    if (response?.ok !== true) return Number.NaN;
    const body = (await response.json()) as { data: { result: { value: [number, string] }[] } };
    return Number(body.data.result[0]?.value[1]);
  };
  const options = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', '--log.level=error'];
  const args = [...options, `--web.listen-address=${address}`];
  const isReady = async (): Promise<boolean> => (await query(readyQuery)) > 0;
  const server = await startServer(bench, requireProgram('prometheus'), args, own, isReady);
  return { ...server, dataFolder: join(own, 'data'), query };
}

export const BLACKBOX = 'prometheus-blackbox-exporter';

/**
 * Starts blackbox_exporter with the module `http_2xx` of Debian.
 * @param caFile null for http
 * @returns also the scrape configuration with which Prometheus probes these URLs once per interval
 */
export async function startBlackbox(
  bench: Bench,
  folder: string,
  caFile: string | null,
  urls: readonly string[],
  intervalSeconds: number,
): Promise<ServerProgram & { readonly scrapeConfig: object }> {
  const address = `127.0.0.1:${await findFreePort()}`;
  const http = caFile === null ? {} : { http: { tls_config: { ca_file: caFile } } };
  const modules = { http_2xx: { prober: 'http', ...http } };
  await writeFile(join(folder, 'blackbox.yml'), JSON.stringify({ modules }));
  const args = ['--config.file=blackbox.yml', `--web.listen-address=${address}`, '--log.level=error'];
  const isReady = async (): Promise<boolean> =>
    (await fetch(`http://${address}/-/healthy`).catch(() => null))?.ok === true;
  const server = await startServer(bench, requireProgram(BLACKBOX), args, folder, isReady);
  const scrapeConfig = {
    job_name: 'probes',
    metrics_path: '/probe',
    params: { module: ['http_2xx'] },
    scrape_interval: `${intervalSeconds}s`,
    scrape_timeout: `${intervalSeconds}s`,
    static_configs: [{ targets: urls }],
    relabel_configs: [
      { source_labels: ['__address__'], target_label: '__param_target' },
      { source_labels: ['__param_target'], target_label: 'instance' },
      { target_label: '__address__', replacement: address },
    ],
  };
  return { ...server, scrapeConfig };
}
