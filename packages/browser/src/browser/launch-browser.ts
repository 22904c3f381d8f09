import { findChromium } from '@tocsin/embedded/chromium';
import { EmbeddedError } from '@tocsin/embedded/embedded-error';
import { chromium, type Browser } from 'playwright-core';

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
