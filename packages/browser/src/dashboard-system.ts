import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServiceProcess } from '@tocsin/lab/service-process';
import { createSystem, type System } from '@tocsin/lab/system';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { runProgram } from '@tocsin/embedded/program/run-program';
import { createSetupLink } from '@tocsin/embedded/start/first-access';
import { ensureChromium } from '@tocsin/embedded/test-run/programs';
import { useTestServers } from '@tocsin/embedded/testing/run-servers';
import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { launchBrowser, ORIGIN } from './browser.ts';

/** A cookie as a browser takes it. */
interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly url: string;
}

/** Somebody who is signed in: asks the api as the dashboard does. */
export interface DashboardClient {
  /** What signs a browser in as the same person. */
  readonly cookies: readonly Cookie[];
  /** @param path under `/api/dashboard` @returns the answer's body @throws where it is no success */
  request<Answer>(method: string, path: string, body?: object): Promise<Answer>;
}

interface Person {
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

/** Makes a user by an invitation, or by the link of a first run. */
export async function acceptInvitation(
  apiPort: number,
  token: string,
  person: Person,
): Promise<DashboardClient> {
  const response = await send(apiPort, [], 'POST', '/invitations/accept', { token, ...person });
  const cookies = response.headers.getSetCookie().map((line): Cookie => {
    const [pair = ''] = line.split(';');
    const [name = '', ...value] = pair.split('=');
    return { name, value: value.join('='), url: ORIGIN };
  });
  return {
    cookies,
    request: async <Answer>(method: string, path: string, body?: object) => {
      const text = await (await send(apiPort, cookies, method, path, body)).text();
      return (text === '' ? undefined : JSON.parse(text)) as Answer;
    },
  };
}

async function send(
  apiPort: number,
  cookies: readonly Cookie[],
  method: string,
  path: string,
  body?: object,
): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${apiPort}/api/dashboard${path}`, {
    method,
    headers: {
      Origin: ORIGIN,
      'Content-Type': 'application/json',
      Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (response.ok) return response;
  throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const BUILT_DASHBOARD = join(ROOT, 'services', 'dashboard', 'dist');
/** Of the PostgreSQL of a test run: one of its processes builds, the others wait for it. */
const BUILD_LOCK = 8_262_101;

type BuildDashboard = (root: string, build: (folder: string) => void) => void;

/**
 * Builds the dashboard where something that it is made of has changed, as `npm start` does. Only inside a run of tests.
 * @returns its folder
 */
export async function ensureDashboard(): Promise<string> {
  const script = new URL('../../embedded/build-dashboard.js', import.meta.url);
  const { buildDashboard } = (await import(script.href)) as { buildDashboard: BuildDashboard };
  const client = new Client({ connectionString: process.env['TEST_DATABASE_URL'] });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [BUILD_LOCK]);
    buildDashboard(ROOT, runVite);
  } finally {
    await client.end();
  }
  return BUILT_DASHBOARD;
}

function runVite(folder: string): void {
  const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js');
  // What a test run sets is not meant for a build.
  const { NODE_ENV: _, NODE_OPTIONS: __, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [vite, 'build'], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`Building the dashboard failed:\n${stdout}${stderr}`);
}

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

/** Runs a program with a system on servers of its own. Exits the process: with 1, and the error on stderr, if `work` fails. */
export async function runWithSystem(work: (dashboard: DashboardSystem) => Promise<void>): Promise<void> {
  await runProgram(async (teardown) => {
    ensureChromium(say);
    await useTestServers(teardown);
    const dashboard = await teardown.start(createDashboardSystem(), (one) => one.close());
    await work(dashboard);
    return 0;
  });
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
