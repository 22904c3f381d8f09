import { useEffect, useRef } from 'react';

const FIELDS =
  'textarea, select, [contenteditable], input:not([type="checkbox"], [type="radio"], [type="button"], [type="submit"])';

/** Runs an action when its keys are pressed anywhere on the page, except in an open dialog. A key that types text acts only outside of fields. */
export function useShortcut(isPressed: (event: KeyboardEvent) => boolean, run: () => void): void {
  const latest = useRef({ isPressed, run });
  useEffect(() => {
    latest.current = { isPressed, run };
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.repeat || !latest.current.isPressed(event)) return;
      const typesText = !event.ctrlKey && !event.metaKey;
      if (typesText && event.target instanceof Element && event.target.closest(FIELDS) !== null) return;
      if (document.querySelector('[aria-modal="true"]') !== null) return;
      event.preventDefault();
      latest.current.run();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

/** Whether the keyboard has a command key. */
export const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Command or control with K. */
export function isCommandK({ key, metaKey, ctrlKey, shiftKey, altKey }: KeyboardEvent): boolean {
  const isModified = IS_APPLE ? metaKey && !ctrlKey : ctrlKey && !metaKey;
  return isModified && !shiftKey && !altKey && key.toLowerCase() === 'k';
}

/** On some keyboards, the slash needs the shift key. */
export function isSlash({ key, metaKey, ctrlKey, altKey }: KeyboardEvent): boolean {
  return key === '/' && !metaKey && !ctrlKey && !altKey;
}
