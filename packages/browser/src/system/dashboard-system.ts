import { createSystem, type System } from '@tocsin/e2e/system';
import type { ServiceProcess } from '@tocsin/e2e/service-process';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { createSetupLink } from '@tocsin/embedded/start/setup-link';
import type { Browser } from 'playwright-core';
import { launchBrowser, ORIGIN } from '../browser/launch-browser.ts';
import { ensureDashboard } from './built-dashboard.ts';
import { acceptInvitation, type DashboardClient } from './dashboard-client.ts';

/** The first owner, where it is not the test that makes one. */
export const OWNER = { name: 'Ada Byron', email: 'ada@example.com', password: 'correct horse battery' };

/** A system with the dashboard at `ORIGIN`, as a fresh installation: nobody has signed in yet. */
export interface DashboardSystem {
  readonly system: System;
  /** It runs; checker and notifier are for who needs them. */
  readonly api: ServiceProcess;
  readonly browser: Browser;
  /** Something to watch that answers 200, until it is told otherwise. */
  readonly target: HttpTarget;
  /** Something to watch that answers 503. */
  readonly broken: HttpTarget;
  readonly receiver: WebhookReceiver;
  /** The path of the first run's link. */
  setupPath(): Promise<string>;
  /** Makes `OWNER`. */
  createOwner(): Promise<DashboardClient>;
  /** @param regions that it serves */
  startChecker(regions?: string): Promise<ServiceProcess>;
  startNotifier(): Promise<ServiceProcess>;
  close(): Promise<void>;
}

/** Only where the servers of a test run are there. */
export async function createDashboardSystem(): Promise<DashboardSystem> {
  const folder = await ensureDashboard();
  const [target, broken, receiver] = await Promise.all([
    HttpTarget.start(),
    HttpTarget.start(),
    WebhookReceiver.start(),
  ]);
  broken.status = 503;
  const env = { PUBLIC_URL: ORIGIN, DASHBOARD_DIR: folder };
  const system = await createSystem({ queue: 'redis', receiverCa: receiver.ca, env });
  const api = system.service('api');
  const closeAll = async (browser?: Browser): Promise<void> => {
    await browser?.close();
    await system.close();
    await Promise.all([target.stop(), broken.stop(), receiver.stop()]);
  };
  const browser = await start(api).catch(async (error: unknown) => {
    await closeAll();
    throw error;
  });

  const setupPath = async (): Promise<string> => {
    const path = await createSetupLink(system.databaseUrl);
    if (path === null) throw new Error('there is an owner already');
    return path;
  };
  return {
    system,
    api,
    browser,
    target,
    broken,
    receiver,
    setupPath,
    createOwner: async () => {
      const { searchParams } = new URL(await setupPath(), ORIGIN);
      return acceptInvitation(api.port, searchParams.get('token') ?? '', OWNER);
    },
    startChecker: async (regions = 'default') => {
      const checker = system.service('checker', { REGION: regions });
      await checker.start();
      return checker;
    },
    startNotifier: async () => {
      const notifier = system.service('notifier');
      await notifier.start();
      return notifier;
    },
    close: () => closeAll(browser),
  };
}

async function start(api: ServiceProcess): Promise<Browser> {
  await api.start();
  return launchBrowser(api.port);
}
