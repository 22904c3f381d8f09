import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '@tocsin/embedded/ports';
import type { Bench } from '../scenarios/scenario.ts';
import { requireProgram, startServer, type ServerProgram } from './server-program.ts';

const NAME = 'prometheus-blackbox-exporter';

export interface Blackbox extends ServerProgram {
  /** Host and port. */
  readonly address: string;
}

/** @throws UsageError if it is not installed */
export function findBlackbox(): string {
  return requireProgram(NAME, NAME);
}

/** Starts Debian's blackbox_exporter with the module `http_2xx` as Debian configures it. @param caFile trusted; null for http */
export async function startBlackbox(bench: Bench, folder: string, caFile: string | null): Promise<Blackbox> {
  const port = await findFreePort();
  const own = join(folder, `blackbox-${port}`);
  await mkdir(own);
  const module = { prober: 'http', ...(caFile !== null && { http: { tls_config: { ca_file: caFile } } }) };
  // JSON is YAML.
  await writeFile(join(own, 'blackbox.yml'), JSON.stringify({ modules: { http_2xx: module } }));
  const address = `127.0.0.1:${port}`;
  const server = await startServer(bench, {
    program: findBlackbox(),
    args: ['--config.file=blackbox.yml', `--web.listen-address=${address}`, '--log.level=error'],
    folder: own,
    isReady: async () => (await fetch(`http://${address}/-/healthy`).catch(() => null))?.ok === true,
  });
  return { ...server, address };
}

/** How Prometheus probes these URLs through it, each once per interval. */
export function probeJob(address: string, urls: readonly string[], intervalSeconds: number): object {
  return {
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
}
