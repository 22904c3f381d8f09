import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '@tocsin/embedded/ports';
import type { Bench } from '../scenarios/scenario.ts';
import { requireProgram, startServer, type ServerProgram } from './server-program.ts';

export interface Prometheus extends ServerProgram {
  /** Its database. */
  readonly dataFolder: string;
  /** The value of the first series of a PromQL expression, now or at a time in epoch milliseconds; NaN without one. */
  readonly query: (expression: string, at?: number) => Promise<number>;
}

/** @throws UsageError if it is not installed */
export function findPrometheus(): string {
  return requireProgram('prometheus', 'prometheus');
}

/**
 * Starts Debian's Prometheus with its defaults, and waits until a query has a positive value.
 * @param folder for its files
 * @param readyQuery for example the scraped targets that are up
 */
export async function startPrometheus(
  bench: Bench,
  folder: string,
  scrapeConfig: object,
  readyQuery: string,
): Promise<Prometheus> {
  const port = await findFreePort();
  const own = join(folder, `prometheus-${port}`);
  await mkdir(own);
  // JSON is YAML.
  await writeFile(join(own, 'prometheus.yml'), JSON.stringify({ scrape_configs: [scrapeConfig] }));
  const address = `127.0.0.1:${port}`;
  const query = async (expression: string, at = Date.now()): Promise<number> => {
    const url = `http://${address}/api/v1/query?query=${encodeURIComponent(expression)}&time=${at / 1_000}`;
    const response = await fetch(url).catch(() => null);
    // While it starts, it does not listen, or responds with 503.
    if (response?.ok !== true) return Number.NaN;
    const body = (await response.json()) as { data: { result: { value: [number, string] }[] } };
    return Number(body.data.result[0]?.value[1]);
  };
  const options = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', '--log.level=error'];
  const server = await startServer(bench, {
    program: findPrometheus(),
    args: [...options, `--web.listen-address=${address}`],
    folder: own,
    isReady: async () => (await query(readyQuery)) > 0,
  });
  return { ...server, dataFolder: join(own, 'data'), query };
}
