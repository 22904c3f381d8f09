import { useWindowEvent } from '@mantine/hooks';

const FIELDS =
  'textarea, select, [contenteditable], input:not([type="checkbox"], [type="radio"], [type="button"], [type="submit"])';

/**
 * Runs an action when its keys are pressed anywhere on the page while no dialog is open. A key that would type text is ignored in form
 * fields.
 */
export function useShortcut(isPressed: (event: KeyboardEvent) => boolean, run: () => void): void {
  useWindowEvent('keydown', (event) => {
    if (event.defaultPrevented || event.repeat || !isPressed(event)) return;
    const typesText = !event.ctrlKey && !event.metaKey;
    if (typesText && event.target instanceof Element && event.target.closest(FIELDS) !== null) return;
    if (document.querySelector('[aria-modal="true"]') !== null) return;
    event.preventDefault();
    run();
  });
}

/** True if the keyboard has a Command key. */
export const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Command+K on Apple devices, otherwise Control+K. */
export function isCommandK({ key, metaKey, ctrlKey, shiftKey, altKey }: KeyboardEvent): boolean {
  const isModified = IS_APPLE ? metaKey && !ctrlKey : ctrlKey && !metaKey;
  return isModified && !shiftKey && !altKey && key.toLowerCase() === 'k';
}

/** Allows Shift, because some keyboards require it for a slash. */
export function isSlash({ key, metaKey, ctrlKey, altKey }: KeyboardEvent): boolean {
  return key === '/' && !metaKey && !ctrlKey && !altKey;
}
