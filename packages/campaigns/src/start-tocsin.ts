import { randomBytes } from 'node:crypto';
import { findFreePort } from '@tocsin/embedded/ports';
import { serverFolder, type Teardown } from '@tocsin/embedded/program/teardown';
import { ApiClient } from '@tocsin/lab/api-client';
import { ADMIN_ENV, PUBLIC_URL } from '@tocsin/lab/dashboard-session';
import { startProgram } from '@tocsin/lab/started-program';

/** Runs `npm start` in a folder until the teardown. @param settings besides those that every campaign needs */
export async function startTocsin(
  folder: string,
  settings: Readonly<Record<string, string>>,
  teardown: Teardown,
): Promise<{ readonly api: ApiClient; readonly key: string; readonly port: number }> {
  for (const name of ['postgres', 'redis', 'services']) await serverFolder(folder, name, teardown);
  const key = `tocsin_live_${randomBytes(24).toString('hex')}`;
  const port = await findFreePort();
  const start = new URL(import.meta.resolve('@tocsin/embedded/start/main'));
  const { child, printed, ended } = startProgram(start, [], folder, {
    ...ADMIN_ENV,
    PUBLIC_URL,
    TEST_FOLDER: process.env['TEST_FOLDER'],
    PORT: String(port),
    BOOTSTRAP_API_KEY: key,
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    ...settings,
  });
  teardown.onStop(async () => {
    child.kill('SIGTERM');
    return (await ended).code === 0;
  });
  await printed('Press Ctrl-C to stop');
  if (child.exitCode !== null) throw new Error(`npm start failed: ${(await ended).stderr}`);
  return { api: new ApiClient([{ port, isReady: true }], key), key, port };
}
