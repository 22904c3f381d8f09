import { runTestServers } from '@tocsin/embedded/testing/run-servers';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { ensureChromium } from '@tocsin/embedded/test-run/ensure-chromium';
import { createDashboardSystem, type DashboardSystem } from './dashboard-system.ts';

/**
 * For programs: a system on servers of its own for as long as `work` takes, also if it is stopped by a signal. Ends the
 * process; with 1, and what went wrong on stderr, where that fails.
 */
export async function runWithSystem(work: (dashboard: DashboardSystem) => Promise<void>): Promise<void> {
  const stops: (() => Promise<unknown>)[] = [];
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.splice(0).toReversed()) await stop().catch(() => undefined);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void stopAll().finally(() => process.exit(130)));
  try {
    ensureChromium(say);
    const servers = await runTestServers();
    stops.push(servers.stop);
    process.env['TEST_DATABASE_URL'] = servers.databaseUrl;
    process.env['TEST_REDIS_URL'] = servers.redisUrl;
    process.env['TEST_FOLDER'] = servers.folder;
    const dashboard = await createDashboardSystem();
    stops.push(() => dashboard.close());
    await work(dashboard);
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`);
    process.exitCode = 1;
  }
  await stopAll();
  process.exit();
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** What people can mend is one line; what is our mistake has a stack. */
function describe(error: unknown): string {
  if (error instanceof EmbeddedError) return error.message;
  return error instanceof Error && error.stack !== undefined ? error.stack : String(error);
}
