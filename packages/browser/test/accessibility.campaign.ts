import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  findViolations,
  openContext,
  settle,
  showScheme,
  type WatchedContext,
} from '@tocsin/browser/browser';
import { createDashboardSystem, type DashboardSystem } from '@tocsin/browser/dashboard-system';
import type { DashboardUser } from '@tocsin/browser/dashboard-system';
import { type Filled, fillSystem } from '@tocsin/browser/fill/fill-system';

import {
  type DashboardPage,
  DESKTOP,
  EMPTY_PAGES,
  NO_IDS,
  PAGES,
  pathOf,
  PHONE,
  readRoutes,
} from '@tocsin/browser/pages';
import type { Page } from 'playwright-core';

/** Rules that depend on colors. */
const COLOR_RULES = ['color-contrast'];

let dashboard: DashboardSystem;
let owner: DashboardUser;
let signedIn: Visitor;
let signedOut: Visitor;
let filled: Filled | null = null;
beforeAll(async () => {
  dashboard = await createDashboardSystem();
  owner = await dashboard.createOwner();
  signedIn = await visit(owner.cookies);
  signedOut = await visit([]);
});
afterAll(() => dashboard.close());

/** A tab of a browser profile. */
interface Visitor {
  readonly page: Page;
  readonly problems: WatchedContext['problems'];
}

async function visit(cookies: DashboardUser['cookies']): Promise<Visitor> {
  const { context, problems } = await openContext(dashboard.browser);
  await context.addCookies([...cookies]);
  return { page: await context.newPage(), problems };
}

/** Light and dark, on a desktop and on a phone. */
async function violationsOf(page: Page): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const [device, size] of [
    ['desktop', DESKTOP],
    ['phone', PHONE],
  ] as const) {
    await page.setViewportSize(size);
    await showScheme(page, 'light');
    found[`${device} light`] = await findViolations(page);
    found[`${device} width`] = await overflowOf(page);
    await showScheme(page, 'dark');
    found[`${device} dark`] = await findViolations(page, COLOR_RULES);
  }
  return found;
}

const NONE = {
  'desktop light': [],
  'desktop width': [],
  'phone light': [],
  'phone width': [],
  'desktop dark': [],
  'phone dark': [],
};

/** Wide content must scroll in its own container, not with the page. */
function overflowOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return scrollWidth > clientWidth ? [`the page is ${scrollWidth} px wide on ${clientWidth} px`] : [];
  });
}

async function check(dashboardPage: DashboardPage): Promise<void> {
  const { isSignedOut, open, errorStatus } = dashboardPage;
  const { page, problems } = isSignedOut ? signedOut : signedIn;
  const before = problems.length;
  try {
    await page.setViewportSize(DESKTOP);
    await page.goto(pathOf(dashboardPage, filled ?? NO_IDS));
    await settle(page);
    await open?.(page);
    expect(await violationsOf(page)).toEqual(NONE);
    const unexpected = problems
      .slice(before)
      .filter((problem) => errorStatus === undefined || !problem.includes(String(errorStatus)));
    expect(unexpected).toEqual([]);
  } finally {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  }
}

test('PAGES has a page for each route of the router, and no others', async () => {
  const { page } = signedIn;
  await page.goto('/');
  await settle(page);
  const routes = (await readRoutes(page)).sort();
  expect([...new Set(PAGES.map(({ route }) => route).filter(Boolean))].sort()).toEqual(routes);
});

describe('without any data', () => {
  test.each(EMPTY_PAGES)('$name', check);
});

describe('with data', () => {
  beforeAll(async () => {
    filled = await fillSystem(dashboard, owner);
  });

  test.each(PAGES)('$name', check);
});
