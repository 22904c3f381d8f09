import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SettingsError } from '@tocsin/runtime/env';
import { errorCode } from '@tocsin/runtime/error-code';
import { isAtLocalhost } from '@tocsin/runtime/listen';
import { EmbeddedError } from '../embedded-error.ts';
import { findFreePort, isPortFree } from '../ports.ts';
import { lockDataFolder } from './data-folder.ts';
import { createFirstApiKey, createSetupLink } from './first-access.ts';
import { launch, LOOPBACK, ROOT } from './launch.ts';
import { handleStop, type StopHandler } from './stop.ts';
import { parseStartSettings, shown } from './stores.ts';
import { welcome } from './welcome.ts';

/** `npm start` runs the whole system on this machine until it is stopped. */
export async function main(_args: readonly string[]): Promise<void> {
  const stop = handleStop(say);
  try {
    await start(stop);
  } catch (error) {
    if (!stop.signal.aborted) {
      process.stderr.write(`${describe(error)}\n`);
      await stop.run(1);
    }
  }
  stop.started();
}

async function start(stop: StopHandler): Promise<void> {
  const envFile = join(ROOT, '.env');
  // Environment variables take precedence.
  if (existsSync(envFile)) process.loadEnvFile(envFile);
  const settings = parseStartSettings();
  const folder = await lockDataFolder(settings.DATA_DIR);
  stop.onStop(folder.release);
  const port = settings.PORT === 0 ? await findFreePort() : settings.PORT;
  const host = settings.HOST ?? LOOPBACK;
  await checkPort(port, host);
  say('Starting …');
  const { stores, owner, health, agentPort, agentUrl } = await launch({
    settings,
    port,
    dataDir: folder.path,
    stop,
    say,
  });
  const bootstrapKey = settings.BOOTSTRAP_API_KEY !== undefined;
  const text = welcome({
    port,
    host,
    health,
    uid: owner?.uid ?? null,
    publicUrl: settings.PUBLIC_URL,
    agentPort,
    agentUrl,
    database: stores.database,
    queue: stores.queue,
    dataDir: shown(folder.path),
    apiKey: bootstrapKey ? null : await createFirstApiKey(stores.databaseUrl),
    bootstrapKey,
    setupPath: await createSetupLink(stores.databaseUrl),
    adminEmail: settings.BOOTSTRAP_ADMIN_EMAIL,
    egressAllowed: settings.EGRESS_ALLOW_CIDRS,
  });
  say(text);
}

/** Returns one line for errors that the user can fix, and a stack for others. */
function describe(error: unknown): string {
  if (error instanceof EmbeddedError || error instanceof SettingsError) return error.message;
  return error instanceof Error && error.stack !== undefined ? error.stack : String(error);
}

async function checkPort(port: number, host: string): Promise<void> {
  // On some systems, servers on all addresses and on 127.0.0.1 can share a port, and the wrong server would get requests.
  for (const address of isAtLocalhost(host) ? [undefined, LOOPBACK] : [host]) {
    const isFree = await isPortFree(port, address).catch((error: unknown) => {
      if (errorCode(error) !== 'EADDRNOTAVAIL') throw error;
      throw new EmbeddedError(`HOST must be an IP address of this machine, and ${host} is not`);
    });
    if (!isFree)
      throw new EmbeddedError(`Port ${port} is in use. Choose another one: PORT=${port + 1} npm start`);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
