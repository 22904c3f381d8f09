import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findExecutable } from '@tocsin/embedded/executables';
import { findFreePort } from '@tocsin/embedded/ports';
import { UsageError } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';

/** The Prometheus of this machine, as a process. */
export class Prometheus {
  readonly address: string;
  readonly stop: () => Promise<void>;

  private constructor(address: string, stop: () => Promise<void>) {
    this.address = address;
    this.stop = stop;
  }

  /** Returns its path. @throws UsageError if there is none */
  static requireInstalled(): string {
    const program = findExecutable(['prometheus'], process.env['PATH'] ?? '');
    if (program === null) throw new UsageError('Install Prometheus: apt-get install prometheus');
    return program;
  }

  /** @param scrapeConfigs `scrape_configs` of its configuration. The teardown stops it */
  static async start(
    parent: string,
    teardown: Teardown,
    scrapeConfigs: readonly object[],
  ): Promise<Prometheus> {
    const port = await findFreePort();
    const folder = join(parent, `prometheus-${port}`);
    await mkdir(folder);
    // JSON is YAML.
    await writeFile(join(folder, 'prometheus.yml'), JSON.stringify({ scrape_configs: scrapeConfigs }));
    const options = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', '--log.level=error'];
    const address = `127.0.0.1:${port}`;
    const child = spawn(Prometheus.requireInstalled(), [...options, `--web.listen-address=${address}`], {
      cwd: folder,
      stdio: 'ignore',
    });
    const exit = once(child, 'exit');
    const stop = async (): Promise<void> => {
      child.kill();
      await exit;
    };
    teardown.onStop(stop);
    return new Prometheus(address, stop);
  }

  /** The value of the first series. @returns NaN without a series, or while Prometheus starts */
  async query(expression: string): Promise<number> {
    const url = `http://${this.address}/api/v1/query?query=${encodeURIComponent(expression)}`;
    const response = await fetch(url).catch(() => null);
    // While it starts, it does not listen, or responds with 503.
    if (response?.ok !== true) return Number.NaN;
    const body = (await response.json()) as { data: { result: { value: [number, string] }[] } };
    return Number(body.data.result[0]?.value[1]);
  }
}
