import { rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SecretBox } from '@tocsin/core/secrets/secret-box';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { createChannel } from '@tocsin/db/channels/write-channels';
import { ensureFirstAccount } from '@tocsin/db/accounts/accounts';
import { HttpTarget } from '../local-web/http-target.ts';
import { WebhookReceiver } from '../local-web/webhook-receiver.ts';
import { findFreePort } from '../ports.ts';
import { makeFolder, relocatedFolder } from '../server-folder.ts';
import { createFirstApiKey, useDatabase } from '../start/first-access.ts';
import { launch, LOOPBACK } from '../start/launch.ts';
import { handleStop, type StopHandler } from '../start/stop.ts';
import { parseStartSettings } from '../start/stores.ts';
import { createBranchNetwork, startBranchOffice } from './branch-office.ts';
import { createDemoApi } from './demo-api.ts';
import { playOutage } from './play-outage.ts';

/**
 * `npm run demo` starts a separate system with an agent, a target that fails and recovers, and a webhook receiver. The demo takes less than a
 * minute and leaves no data.
 * @public called by `bootstrap.js`
 */
export async function main(_args: readonly string[]): Promise<void> {
  const stop = handleStop(say);
  let exitCode = 0;
  try {
    await run(stop);
  } catch (error) {
    if (!stop.signal.aborted) {
      process.stderr.write(`The demo failed: ${error instanceof Error ? error.message : String(error)}\n`);
      exitCode = 1;
    }
  }
  if (!stop.signal.aborted) await stop.run(exitCode);
  stop.started();
}

async function run(stop: StopHandler): Promise<void> {
  say('Starting a separate system for the demo …');
  const branch = await createBranchNetwork();
  stop.onStop(() => branch.remove());
  const [target, receiver] = await Promise.all([
    HttpTarget.start({ addresses: [...new Set([LOOPBACK, branch.host])] }),
    WebhookReceiver.start(),
  ]);
  stop.onStop(async () => void (await Promise.all([target.stop(), receiver.stop()])));
  const dataDir = resolve(process.env['DATA_DIR'] ?? '.data', 'demo');
  await removeData(dataDir);
  await makeFolder(dataDir);
  stop.onStop(() => removeData(dataDir));

  const port = await findFreePort();
  const gatewayPort = await findFreePort();
  const caFile = join(dataDir, 'receiver-ca.pem');
  await writeFile(caFile, receiver.ca);
  Object.assign(process.env, {
    PORT: String(port),
    HOST: LOOPBACK,
    HEALTH_HOST: LOOPBACK,
    HEALTH_PORT: '0',
    AGENT_PORT: String(gatewayPort),
    DATABASE_URL: '',
    QUEUE_URL: '',
    SECRETS_KEY: '',
    BOOTSTRAP_API_KEY: '',
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    WEBHOOK_CA_FILE: caFile,
  });
  const system = await launch({
    settings: parseStartSettings(),
    port,
    gatewayHost: branch.host,
    dataDir,
    stop,
    say: () => undefined,
  });
  const { stores, secretsKey } = system;
  const apiKey = await createFirstApiKey(stores.databaseUrl);
  if (apiKey === null) throw new Error(`the database of the demo in ${dataDir} is not empty`);
  const api = createDemoApi(`http://127.0.0.1:${port}`, apiKey);
  await startBranchOffice(api, branch, gatewayPort, system);
  await playOutage({
    api,
    target,
    branch,
    receiver,
    connect: (url) => createDemoChannel(stores.databaseUrl, secretsKey, url),
    say,
    check: () => stop.signal.throwIfAborted(),
  });
}

async function createDemoChannel(databaseUrl: string, secretsKey: string, url: string): Promise<void> {
  const secrets = new SecretBox([Buffer.from(secretsKey, 'base64')]);
  await useDatabase(databaseUrl, async ({ db }) => {
    const { id: accountId } = await ensureFirstAccount(db);
    await createChannel({ db, secrets }, systemActor(accountId), {
      name: 'Demo',
      url,
      monitorIds: [],
      allMonitors: true,
    });
  });
}

/** Removes the folder, and data that root relocated because other users cannot access the folder. */
async function removeData(folder: string): Promise<void> {
  for (const name of ['postgres', 'redis', 'services']) {
    const relocated = await relocatedFolder(join(folder, name));
    if (relocated !== null) await rm(relocated, { recursive: true, force: true });
  }
  await rm(folder, { recursive: true, force: true });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
