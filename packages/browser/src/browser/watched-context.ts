import type { Browser, BrowserContext, BrowserContextOptions, ConsoleMessage } from 'playwright-core';
import { ORIGIN } from './launch-browser.ts';

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
