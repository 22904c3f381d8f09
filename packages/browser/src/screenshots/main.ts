import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { openContext, settle, showScheme, type WatchedContext } from '../browser.ts';
import { runWithSystem, say } from '../dashboard-system.ts';
import { type Filled, fillSystem } from '../fill/fill-system.ts';
import { showAddresses } from '../fill/monitors.ts';
import { type DashboardPage, DESKTOP, EMPTY_PAGES, NO_IDS, PAGES, pathOf, PHONE } from '../pages.ts';

/**
 * `npm run screenshots -- <folder> [page …]`: takes screenshots of all or some pages, with and without data, on desktop and phone, in light
 * and dark.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  const [given, ...names] = args.filter((arg) => arg !== '--');
  const unknown = names.filter((name) => !PAGES.some((page) => page.name === name));
  if (given === undefined || given.startsWith('-') || unknown.length > 0) {
    process.stderr.write(
      `Usage: npm run screenshots -- <folder> [page …]\nPages: ${PAGES.map(({ name }) => name).join(' ')}\n`,
    );
    process.exit(1);
  }
  const folder = resolve(given);
  await mkdir(folder, { recursive: true });
  const wanted = (page: DashboardPage): boolean => names.length === 0 || names.includes(page.name);

  await runWithSystem(async (dashboard) => {
    const owner = await dashboard.createOwner();
    const signedIn = await openContext(dashboard.browser);
    await signedIn.context.addCookies(owner.cookies);
    const signedOut = await openContext(dashboard.browser);
    const take = async (pages: readonly DashboardPage[], filled: Filled, prefix: string): Promise<void> => {
      for (const one of pages.filter(wanted)) {
        const context = one.isSignedOut ? signedOut : signedIn;
        await takePage(context, one, pathOf(one, filled), join(folder, `${prefix}${one.name}`)).catch(
          (error: unknown) => say(`${prefix}${one.name}: ${String(error)}`),
        );
      }
    };
    await take(EMPTY_PAGES, NO_IDS, 'empty-');
    say('Filling the system …');
    const filled = await fillSystem(dashboard, owner);
    await showAddresses(dashboard);
    await take(PAGES, filled, '');
    for (const problem of [...signedIn.problems, ...signedOut.problems]) say(`Problem: ${problem}`);
    say(`The screenshots are in ${folder}`);
  });
}

async function takePage(
  { context }: WatchedContext,
  { open }: DashboardPage,
  path: string,
  file: string,
): Promise<void> {
  for (const [device, viewport] of [
    ['desktop', DESKTOP],
    ['phone', PHONE],
  ] as const) {
    const page = await context.newPage();
    try {
      await page.setViewportSize(viewport);
      await page.goto(path);
      await settle(page);
      await open?.(page);
      for (const scheme of ['light', 'dark'] as const) {
        await showScheme(page, scheme);
        const picture = `${file}-${device}-${scheme}.png`;
        // A dialog covers the screen, not the whole page.
        await page.screenshot({ path: picture, fullPage: open === undefined });
        say(picture);
      }
    } finally {
      await page.close();
    }
  }
}
