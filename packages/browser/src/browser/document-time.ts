import type { Page } from 'playwright-core';

/** When the document of this page was loaded: another after each reload, the same while the dashboard changes pages by itself. */
export function documentTime(page: Page): Promise<number> {
  return page.evaluate(() => performance.timeOrigin);
}
