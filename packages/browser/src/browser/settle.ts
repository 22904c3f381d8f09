import type { Page } from 'playwright-core';

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
