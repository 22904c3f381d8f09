import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HttpTarget } from '../local-web/http-target.ts';
import { WebhookReceiver } from '../local-web/webhook-receiver.ts';
import { findFreePort } from '../ports.ts';
import { makeFolder, relocatedFolder } from '../server-folder.ts';
import { createFirstApiKey } from '../start/first-access.ts';
import { prepareServiceUser } from '../start/service-user.ts';
import type { ServiceUser } from '../start/service-user.ts';
import { LogFile, Service } from '../start/service.ts';
import { handleStop, type StopHandler } from '../start/stop.ts';
import { dashboardEnv, openStores, parseStartSettings, secretsKey } from '../start/stores.ts';
import { connectChannel } from './connect-channel.ts';
import { DemoApi, playOutage } from './play-outage.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const SERVICES = ['api', 'checker', 'notifier'] as const;

/**
 * `npm run demo`: a whole system of its own beside any other, a target that breaks and recovers, and a receiver of its
 * webhooks, in under a minute. Its data goes with it.
 * @public called by `bootstrap.js`
 */
export async function main(_args: readonly string[]): Promise<void> {
  const stop = handleStop(say);
  let exitCode = 0;
  try {
    await run(stop);
  } catch (error) {
    if (!stop.requested) {
      process.stderr.write(`The demo failed: ${error instanceof Error ? error.message : String(error)}\n`);
      exitCode = 1;
    }
  }
  if (!stop.requested) await stop.run(exitCode);
  stop.started();
}

async function run(stop: StopHandler): Promise<void> {
  say('Starting a system of its own for the demo …');
  const [target, receiver] = await Promise.all([HttpTarget.start(), WebhookReceiver.start()]);
  stop.onStop(async () => void (await Promise.all([target.stop(), receiver.stop()])));
  const folder = resolve(process.env['DATA_DIR'] ?? '.data', 'demo');
  await removeData(folder);
  await makeFolder(folder);
  stop.onStop(() => removeData(folder));

  const port = await findFreePort();
  const caFile = join(folder, 'receiver-ca.pem');
  await writeFile(caFile, receiver.ca);
  Object.assign(process.env, {
    PORT: String(port),
    HOST: '127.0.0.1',
    HEALTH_HOST: '127.0.0.1',
    DATABASE_URL: '',
    QUEUE_URL: '',
    BOOTSTRAP_API_KEY: '',
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    WEBHOOK_CA_FILE: caFile,
  });
  const settings = parseStartSettings();
  const stores = await openStores(settings, folder, stop.onStop);
  const key = await secretsKey(undefined, folder);
  const env = {
    ...process.env,
    ...dashboardEnv(settings.DASHBOARD_DIR),
    DATABASE_URL: stores.databaseUrl,
    QUEUE_URL: stores.queueUrl,
    SECRETS_KEY: key,
    HEALTH_PORT: '0',
    LOG_FORMAT: 'json',
  };
  const user = await prepareServiceUser({
    root: ROOT,
    services: SERVICES.map((name) => join('services', name)),
    dataDir: folder,
    env,
  });
  await startServices(user, folder, stop);
  stop.check();

  const apiKey = await createFirstApiKey(stores.databaseUrl);
  if (apiKey === null) throw new Error(`the demo's data in ${folder} is not new`);
  const api = new DemoApi(`http://127.0.0.1:${port}`, apiKey);
  await playOutage({
    api,
    target,
    receiver,
    connect: (url) => connectChannel(stores.databaseUrl, key, url),
    say,
    check: stop.check,
  });
}

/** With what root keeps elsewhere, since other users cannot reach the folder. */
async function removeData(folder: string): Promise<void> {
  for (const name of ['postgres', 'redis', 'services']) {
    const relocated = await relocatedFolder(join(folder, name));
    if (relocated !== null) await rm(relocated, { recursive: true, force: true });
  }
  await rm(folder, { recursive: true, force: true });
}

async function startServices(
  { owner, node, root, env }: ServiceUser,
  folder: string,
  stop: StopHandler,
): Promise<void> {
  const logs = join(folder, 'logs');
  await mkdir(logs, { recursive: true });
  const services = SERVICES.map((name) => {
    const log = new LogFile(join(logs, `${name}.log`));
    return new Service({
      name,
      entry: join(root, 'services', name, 'dist', 'main.js'),
      env,
      node,
      owner,
      log,
      say: () => undefined,
    });
  });
  stop.onStop(async () => void (await Promise.all(services.map((service) => service.stop()))));
  stop.onForce(() => {
    for (const service of services) service.kill();
  });
  await Promise.all(services.map((service) => service.start()));
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
