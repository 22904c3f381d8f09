import type { Page } from 'playwright-core';

interface WithRouter {
  /** The router says where it is, for its developer tools. */
  readonly __TSR_ROUTER__: { readonly routesByPath: Readonly<Record<string, unknown>> };
}

/** The path of every route of the open dashboard, as its router has them. */
export function readRoutes(page: Page): Promise<string[]> {
  return page.evaluate(() => Object.keys((globalThis as unknown as WithRouter).__TSR_ROUTER__.routesByPath));
}
