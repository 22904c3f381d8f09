import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { findChromium } from '@tocsin/embedded/executables';
import type { AxeResults, RunOptions } from 'axe-core';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type ConsoleMessage,
  type Page,
} from 'playwright-core';

/** The origin of the dashboard on any port of the api. Browsers treat names below `localhost` as secure. */
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

/** Starts Chromium, which can reach only the api, at `ORIGIN`, other names below `localhost` and 127.0.0.1. @throws EmbeddedError if it is not installed */
export function launchBrowser(apiPort: number): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null)
    throw new EmbeddedError(
      'Chromium is missing. Install it on the PATH (for example with apt-get install chromium), or set CHROMIUM_PATH.',
    );
  const rules = ['*.localhost', '127.0.0.1']
    .map((host) => `MAP ${host} 127.0.0.1:${apiPort}`)
    .concat('MAP * ~NOTFOUND')
    .join(', ');
  return chromium.launch({
    executablePath,
    headless: true,
    timeout: LAUNCH_TIMEOUT_MS,
    args: [...FLAGS, `--host-resolver-rules=${rules}`],
  });
}

/** Only stops tests that hang. */
const HANG_MS = 120_000;

/** Equal on every machine. */
const READER = { locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' } as const;

/** A separate browser profile. */
export interface WatchedContext {
  readonly context: BrowserContext;
  /** Errors, violations of the Content-Security-Policy, and requests to other hosts. */
  readonly problems: readonly string[];
}

export async function openContext(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<WatchedContext> {
  const context = await browser.newContext({ ...READER, baseURL: ORIGIN, ...options });
  context.setDefaultTimeout(HANG_MS);
  const problems: string[] = [];
  // Chromium logs only some kinds of violations by itself.
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      // oxlint-disable-next-line no-console -- runs in the page
      console.error(`Content-Security-Policy: ${violatedDirective} forbids ${blockedURI}`);
    });
  });
  context.on('console', (message) => {
    if (message.type() === 'error' && !isExpected(message)) problems.push(`console: ${message.text()}`);
  });
  context.on('weberror', (event) => {
    const { stack, message } = event.error();
    problems.push(`uncaught: ${stack ?? message}`);
  });
  context.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== ORIGIN && protocol !== 'data:' && protocol !== 'blob:')
      problems.push(`request to another host: ${request.url()}`);
  });
  return { context, problems };
}

const PREVIEW = /^\/api\/dashboard\/(?:maintenance-windows|channels)\/preview$/;
/** Error responses that pages handle, by path and status code. Chromium logs each of them as an error. */
const EXPECTED_ERRORS: readonly (readonly [RegExp, string])[] = [
  [/^\/api\/dashboard\/(?:me|accounts)$/, '401'],
  [/^\/api\/auth\/sign-in\/email$/, '401'],
  // On a busy machine the notifier may not send a test event in time.
  [/^\/api\/dashboard\/channels\/[^/]+\/test$/, '504'],
  // For the same reason, a checker may not run a test in time.
  [/^\/api\/dashboard\/monitors\/test$/, '504'],
  [PREVIEW, '400'],
  [PREVIEW, '503'],
];

function isExpected(message: ConsoleMessage): boolean {
  // An interface of this machine came or went, for example of a VPN or a container engine. The page retries.
  if (message.text().includes('ERR_NETWORK_CHANGED')) return true;
  const { pathname } = new URL(message.location().url || ORIGIN);
  return EXPECTED_ERRORS.some(([path, status]) => path.test(pathname) && message.text().includes(status));
}

/** Waits until the page shows its heading, no placeholder and no animation. */
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

/** Switches the page between light and dark, like a change of the system's setting. */
export async function showScheme(page: Page, scheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme });
  await page.waitForFunction(
    (wanted) => document.documentElement.dataset['mantineColorScheme'] === wanted,
    scheme,
  );
  await settle(page);
}

/** Returns when the document was loaded. Only a reload changes it. */
export function documentTime(page: Page): Promise<number> {
  return page.evaluate(() => performance.timeOrigin);
}

const SCRIPT = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
/** WCAG 2.2 levels A and AA, plus axe's best practices, such as landmarks. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

declare global {
  /** Set by `SCRIPT`. */
  var axe: { run(context: Document | Element, options: RunOptions): Promise<AxeResults> };
}

/** Finds accessibility violations on the page. @param only checks these rules instead of `TAGS` */
export async function findViolations(page: Page, only?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await readFile(SCRIPT, 'utf8'));
  const options: RunOptions = {
    runOnly: only ? { type: 'rule', values: [...only] } : { type: 'tag', values: TAGS },
    resultTypes: ['violations'],
  };
  const { violations } = await page.evaluate(
    // Nothing behind a dialog can be reached.
    (given) => axe.run(document.querySelector('[aria-modal="true"]') ?? document, given),
    options,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, html, failureSummary }) =>
      [`${id}: ${help}`, target.join(' '), html.slice(0, 200), failureSummary ?? ''].join('\n  '),
    ),
  );
}
