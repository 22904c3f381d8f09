import type { Page } from 'playwright-core';

interface Router {
  readonly routesByPath: Readonly<Record<string, unknown>>;
}

/** The path of every route of the open dashboard. Its router says where it is, for its developer tools. */
export function readRoutes(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const router: unknown = Reflect.get(globalThis, '__TSR_ROUTER__');
    return Object.keys((router as Router).routesByPath);
  });
}
