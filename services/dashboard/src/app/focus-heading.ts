import type { AppRouter } from './router.tsx';

/**
 * After each navigation to another page the focus is at its heading: who uses a keyboard or a screen reader begins there, as with pages that
 * are loaded anew.
 */
export function focusHeadings(router: Pick<AppRouter, 'subscribe'>): void {
  router.subscribe('onRendered', ({ fromLocation, toLocation, pathChanged }) => {
    // The browser has put it where the first page, or a place within one, begins.
    if (fromLocation !== undefined && pathChanged && toLocation.hash === '') focusHeading();
  });
}

/** For a heading that comes later than its page: the focus waits for it where the page begins. */
export function focusLateHeading(): void {
  if (document.activeElement?.tagName === 'MAIN') focusHeading();
}

function focusHeading(): void {
  const main = document.querySelector('main');
  const { activeElement } = document;
  // Not away from where the page itself has put it.
  if (main === null || (activeElement !== main && main.contains(activeElement))) return;
  const place = main.querySelector('h1') ?? main;
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
}
