import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { sampleAlerts } from '@tocsin/core/formats/alert';
import { createRenderer } from '@tocsin/core/formats/render-body';
import { until } from '@tocsin/embedded/testing/until';

const PROGRAM = '/usr/bin/prometheus-alertmanager';
const name = 'Alertmanager starts an alert, shows its labels and ends it';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tocsin-alertmanager-'));
  const config = join(folder, 'alertmanager.yml');
  await writeFile(config, 'route: { receiver: none }\nreceivers: [{ name: none }]\n');
  const address = `127.0.0.1:${await freePort()}`;
  const args = [`--config.file=${config}`, `--storage.path=${folder}`, `--web.listen-address=${address}`];
  const server = spawn(PROGRAM, [...args, '--cluster.listen-address='], { stdio: 'ignore' });
  try {
    const url = `http://${address}/api/v2/alerts`;
    const list = async (): Promise<unknown[]> => (await (await fetch(url)).json()) as unknown[];
    await until('Alertmanager to respond', () =>
      list().then(
        () => true,
        () => false,
      ),
    );
    const render = createRenderer({ format: 'alertmanager', template: null });
    const send = async (event: string): Promise<number> => {
      const alert = sampleAlerts('https://tocsin.example').find(({ payload }) => payload.event === event);
      if (alert === undefined) throw new Error('no such event');
      const openedAt = new Date(Date.now() - 60_000).toISOString();
      const payload = { ...alert.payload, timestamp: new Date().toISOString() };
      const incident = alert.incident && { ...alert.incident, openedAt };
      const body = render({ ...alert, payload, incident });
      return (await fetch(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } }))
        .status;
    };
    expect(await send('monitor.down')).toBe(200);
    await until('the alert', async () => (await list()).length === 1);
    expect(await list()).toMatchObject([
      { labels: { app: 'shop', team: 'checkout' }, status: { state: 'active' } },
    ]);
    for (const event of ['incident.created', 'monitor.maintenance', 'monitor.up', 'incident.resolved'])
      expect(await send(event)).toBe(200);
    await until('the end of the alert', async () => (await list()).length === 0);
  } finally {
    server.kill();
    await once(server, 'exit');
    await rm(folder, { recursive: true });
  }
}

if (existsSync(PROGRAM)) test(name, run);
else test.skip(`${name} (${PROGRAM} is not installed)`, run);
