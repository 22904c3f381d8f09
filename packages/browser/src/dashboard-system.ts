import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ACCOUNT_HEADER } from '@tocsin/contracts/identity/user-header';
import { createClient, type Client, type ClientRequest } from '@tocsin/contracts/routes/client';
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
import type { Browser, Cookie } from 'playwright-core';
import { launchBrowser, ORIGIN } from './browser.ts';

/** The built dashboard. Every `npm` command that needs it builds it first. */
export const DASHBOARD_FOLDER = fileURLToPath(new URL('../../../services/dashboard/dist', import.meta.url));
/** The first owner. */
export const OWNER = { name: 'Ada Byron', email: 'ada@example.com', password: 'correct horse battery' };

/** A signed-in user, with a typed client of the dashboard API and the cookies for a browser. */
export interface DashboardUser {
  readonly cookies: (Pick<Cookie, 'name' | 'value'> & { readonly url: string })[];
  readonly call: Client<DashboardRoutes>;
  /** Returns a client that names one of the user's accounts. @param slug of the account */
  readonly callIn: (slug: string) => Client<DashboardRoutes>;
}

/** A new installation with a running api and the dashboard at `ORIGIN`. */
export interface DashboardSystem {
  readonly system: System;
  readonly api: ServiceProcess;
  readonly browser: Browser;
  /** Responds with 200. */
  readonly target: HttpTarget;
  /** Responds with 503. */
  readonly broken: HttpTarget;
  readonly receiver: WebhookReceiver;
  /** Returns the path of the link that creates the first owner. */
  setupPath(): Promise<string>;
  /** Creates `OWNER`. */
  createOwner(): Promise<DashboardUser>;
  close(): Promise<void>;
}

/** Requires the servers of a test run. */
export async function createDashboardSystem(): Promise<DashboardSystem> {
  if (!existsSync(DASHBOARD_FOLDER))
    throw new EmbeddedError('The dashboard is not built. Run the command through npm, which builds it.');
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
  const createOwner = async (): Promise<DashboardUser> => {
    const { searchParams } = new URL(await setupPath(), ORIGIN);
    return acceptInvitation(api.port, searchParams.get('token') ?? '', OWNER);
  };
  return { system, api, browser, target, broken, receiver, setupPath, createOwner, close };
}

/** Creates a user by an invitation, or the first owner by the link for it. */
export function acceptInvitation(
  apiPort: number,
  token: string,
  person: typeof OWNER,
): Promise<DashboardUser> {
  return startSession(apiPort, '/api/dashboard/invitations/accept', { token, ...person });
}

export function signIn(apiPort: number, { email, password }: typeof OWNER): Promise<DashboardUser> {
  return startSession(apiPort, '/api/auth/sign-in/email', { email, password });
}

/** Starts a session by a request whose response sets cookies. */
async function startSession(apiPort: number, path: string, body: object): Promise<DashboardUser> {
  let pairs: string[] = [];
  const send = async (
    request: Pick<ClientRequest, 'method' | 'path' | 'body'>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${apiPort}${request.path}`, {
      method: request.method,
      headers: {
        Origin: ORIGIN,
        'Content-Type': 'application/json',
        Cookie: pairs.join('; '),
        ...headers,
      },
      ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${request.method} ${request.path}: ${response.status} ${text}`);
    if (pairs.length === 0)
      pairs = response.headers.getSetCookie().map((line) => line.split(';', 1)[0] ?? '');
    return text === '' ? undefined : JSON.parse(text);
  };
  await send({ method: 'POST', path, body });
  const cookies = pairs.map((pair) => {
    const [name = '', ...value] = pair.split('=');
    return { name, value: value.join('='), url: ORIGIN };
  });
  return {
    cookies,
    call: createClient<DashboardRoutes>((request) => send(request)),
    callIn: (slug) => createClient<DashboardRoutes>((request) => send(request, { [ACCOUNT_HEADER]: slug })),
  };
}

/** Runs a program with a system on its own servers, and exits the process. */
export async function runWithSystem(work: (dashboard: DashboardSystem) => Promise<void>): Promise<void> {
  await runProgram(async (teardown) => {
    ensureChromium(say);
    await teardown.start(useTestServers(), (servers) => servers.stop());
    await work(await teardown.start(createDashboardSystem(), (one) => one.close()));
    return 0;
  });
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
