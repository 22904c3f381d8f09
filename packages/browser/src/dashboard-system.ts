import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createClient, type Client } from '@tocsin/contracts/routes/client';
import type { DashboardRoutes } from '@tocsin/contracts/routes/routes';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { runProgram } from '@tocsin/embedded/program/run-program';
import { createSetupLink } from '@tocsin/embedded/start/first-access';
import { ensureChromium } from '@tocsin/embedded/test-run/programs';
import { useTestServers } from '@tocsin/embedded/testing/run-servers';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import type { Browser } from 'playwright-core';
import { launchBrowser, ORIGIN } from './browser.ts';

/** The built dashboard. Every `npm` command that needs it builds it first. */
export const DASHBOARD_FOLDER = fileURLToPath(new URL('../../../services/dashboard/dist', import.meta.url));
/** The first owner. */
export const OWNER = { name: 'Ada Byron', email: 'ada@example.com', password: 'correct horse battery' };

/** A signed-in user: a typed client of the dashboard API, and the cookies that sign a browser in. */
export interface DashboardUser {
  readonly cookies: readonly { readonly name: string; readonly value: string; readonly url: string }[];
  readonly call: Client<DashboardRoutes>;
}

/** A new installation with the dashboard at `ORIGIN` and a running api. */
export interface DashboardSystem {
  readonly system: System;
  readonly api: ServiceProcess;
  readonly browser: Browser;
  /** A target that responds with 200. */
  readonly target: HttpTarget;
  /** A target that responds with 503. */
  readonly broken: HttpTarget;
  readonly receiver: WebhookReceiver;
  /** The path of the link that creates the first owner. */
  setupPath(): Promise<string>;
  /** Creates `OWNER`. */
  createOwner(): Promise<DashboardUser>;
  /** @param regions of the checker */
  startChecker(regions?: string): Promise<void>;
  startNotifier(): Promise<void>;
  close(): Promise<void>;
}

/** Needs the servers of a test run. */
export async function createDashboardSystem(): Promise<DashboardSystem> {
  if (!existsSync(DASHBOARD_FOLDER))
    throw new EmbeddedError('The dashboard is not built: run the command by npm, which builds it');
  const [target, broken, receiver] = await Promise.all([
    HttpTarget.start(),
    HttpTarget.start(),
    WebhookReceiver.start(),
  ]);
  broken.status = 503;
  const env = { PUBLIC_URL: ORIGIN, DASHBOARD_DIR: DASHBOARD_FOLDER };
  const system = await createSystem({ queue: 'redis', receiverCa: receiver.ca, env });
  const api = system.service('api');
  let browser: Browser | undefined;
  const close = async (): Promise<void> => {
    await browser?.close();
    await system.close();
    await Promise.all([target.stop(), broken.stop(), receiver.stop()]);
  };
  try {
    await api.start();
    browser = await launchBrowser(api.port);
  } catch (error) {
    await close();
    throw error;
  }
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
    close,
    createOwner: async () => {
      const { searchParams } = new URL(await setupPath(), ORIGIN);
      return acceptInvitation(api.port, searchParams.get('token') ?? '', OWNER);
    },
    startChecker: async (regions = 'default') => {
      await system.service('checker', { REGION: regions }).start();
    },
    startNotifier: async () => {
      await system.service('notifier').start();
    },
  };
}

/** Creates a user by an invitation, or the first owner by the link for it. */
export async function acceptInvitation(
  apiPort: number,
  token: string,
  person: { readonly name: string; readonly email: string; readonly password: string },
): Promise<DashboardUser> {
  const send = async (
    { method, path, body }: { readonly method: string; readonly path: string; readonly body?: unknown },
    cookie = '',
  ): Promise<Response> => {
    const response = await fetch(`http://127.0.0.1:${apiPort}${path}`, {
      method,
      headers: { Origin: ORIGIN, 'Content-Type': 'application/json', Cookie: cookie },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  };
  const path = '/api/dashboard/invitations/accept';
  const joined = await send({ method: 'POST', path, body: { token, ...person } });
  const pairs = joined.headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '');
  return {
    cookies: pairs.map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return { name, value: value.join('='), url: ORIGIN };
    }),
    call: createClient<DashboardRoutes>(async (request) => {
      const text = await (await send(request, pairs.join('; '))).text();
      return text === '' ? undefined : (JSON.parse(text) as unknown);
    }),
  };
}

/** Runs a program with a system on servers of its own, and exits the process. */
export async function runWithSystem(work: (dashboard: DashboardSystem) => Promise<void>): Promise<void> {
  await runProgram(async (teardown) => {
    ensureChromium(say);
    await useTestServers(teardown);
    await work(await teardown.start(createDashboardSystem(), (one) => one.close()));
    return 0;
  });
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
