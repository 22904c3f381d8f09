import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { findChromium } from '@tocsin/embedded/executables';
import { type Browser, chromium } from 'playwright-core';
import type { BrowserContext, BrowserContextOptions, ConsoleMessage, Page } from 'playwright-core';

/** Where a browser finds the dashboard, whatever port the api has. As `localhost` it counts as secure, as https would. */
export const ORIGIN = 'http://tocsin.localhost';

const LAUNCH_TIMEOUT_MS = 120_000;
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-dev-shm-usage',
  '--disable-sync',
];

/**
 * Starts Chromium. It knows `ORIGIN` and reaches nothing else.
 * @throws EmbeddedError where there is none
 */
export function launchBrowser(apiPort: number): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null)
    throw new EmbeddedError(
      'There is no Chromium: install it so that it is on the PATH (e.g. apt-get install chromium), or set CHROMIUM_PATH',
    );
  const { hostname } = new URL(ORIGIN);
  return chromium.launch({
    executablePath,
    headless: true,
    timeout: LAUNCH_TIMEOUT_MS,
    args: [...FLAGS, `--host-resolver-rules=MAP ${hostname} 127.0.0.1:${apiPort}, MAP * ~NOTFOUND`],
  });
}

/** Ends a wait for what never comes. It is no statement about speed. */
const HANG_MS = 120_000;

/** Whoever looks: the same everywhere, whatever the machine is set to. */
const READER = { locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' } as const;

/** A browser profile of its own whose pages are watched for what no page may do. */
export interface WatchedContext {
  readonly context: BrowserContext;
  /** Errors in the console or thrown, violations of the Content-Security-Policy, requests to other hosts; in words. */
  readonly problems: readonly string[];
}

export async function openContext(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<WatchedContext> {
  const context = await browser.newContext({ ...READER, baseURL: ORIGIN, ...options });
  context.setDefaultTimeout(HANG_MS);
  const problems: string[] = [];
  // Chromium says so in the console by itself, but not for each kind of violation.
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      // oxlint-disable-next-line no-console -- in the page, whose console is watched
      console.error(`Content-Security-Policy: ${violatedDirective} forbids ${blockedURI}`);
    });
  });
  context.on('console', (message) => {
    if (message.type() === 'error' && !isExpected(message)) problems.push(`console: ${message.text()}`);
  });
  context.on('weberror', (error) => problems.push(`uncaught: ${describe(error.error())}`));
  context.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== ORIGIN && protocol !== 'data:' && protocol !== 'blob:')
      problems.push(`request to another host: ${request.url()}`);
  });
  return { context, problems };
}

/**
 * Chromium logs every failed request as an error. These tell a page that nobody is signed in, that the password is wrong, or that the
 * notifier, on a busy machine, did not send a test event in time.
 */
function isExpected(message: ConsoleMessage): boolean {
  const { pathname } = new URL(message.location().url || ORIGIN);
  const isAsked = pathname === '/api/dashboard/me' || pathname === '/api/auth/sign-in/email';
  const isTest = /^\/api\/dashboard\/channels\/[^/]+\/test$/.test(pathname);
  return (isAsked && message.text().includes('401')) || (isTest && message.text().includes('504'));
}

function describe(error: Error): string {
  return error.stack ?? error.message;
}

/** Waits until the page shows what it was opened for: its heading, no placeholder any more, nothing that still moves. */
export async function settle(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await page.waitForFunction(() => {
    const isLoading =
      document.querySelector('.mantine-Skeleton-root[data-visible], [aria-label^="Loading"]') !== null;
    const isMoving = document
      .getAnimations()
      .some(
        ({ playState, effect }) =>
          playState === 'running' && effect?.getComputedTiming().iterations !== Number.POSITIVE_INFINITY,
      );
    return !isLoading && !isMoving;
  });
}

/** Shows the open page in light or dark, as a change of the system's setting would. */
export async function showScheme(page: Page, scheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme });
  await page.waitForFunction(
    (wanted) => document.documentElement.dataset['mantineColorScheme'] === wanted,
    scheme,
  );
  await settle(page);
}

/** When the document of this page was loaded: another after each reload, the same while the dashboard changes pages by itself. */
export function documentTime(page: Page): Promise<number> {
  return page.evaluate(() => performance.timeOrigin);
}
