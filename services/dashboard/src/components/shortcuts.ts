import { useWindowEvent } from '@mantine/hooks';

const FIELDS =
  'textarea, select, [contenteditable], input:not([type="checkbox"], [type="radio"], [type="button"], [type="submit"])';

/**
 * Runs an action when its keys are pressed anywhere on the page while no dialog is open. A key that would type text is ignored in form
 * fields.
 */
export function useShortcut(
  isPressed: (event: KeyboardEvent) => boolean,
  run: () => void,
  repeats = false,
): void {
  useWindowEvent('keydown', (event) => {
    if (event.defaultPrevented || (event.repeat && !repeats) || !isPressed(event)) return;
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

const ROW_LINKS = 'main :is(tbody th, [data-row]) a';

function focusRow(step: number): void {
  const links = [...document.querySelectorAll<HTMLElement>(ROW_LINKS)];
  const current = links.findIndex((link) => link === document.activeElement);
  // Rows above the window are in the document, too.
  const first = links.findIndex((link) => link.getBoundingClientRect().top >= 0);
  links[current < 0 ? first : Math.max(0, current + step)]?.focus();
}

function isStep(letter: string, arrow: string): (event: KeyboardEvent) => boolean {
  return ({ key, ctrlKey, metaKey, altKey }) => {
    const isArrow = key === arrow && document.activeElement?.matches(ROW_LINKS) === true;
    return !ctrlKey && !metaKey && !altKey && (key === letter || isArrow);
  };
}

const isNext = isStep('j', 'ArrowDown');
const isPrevious = isStep('k', 'ArrowUp');

/** Moves the focus between the rows of a list with J and K, or with the arrow keys once a row has it. */
export function useRowKeys(): void {
  useShortcut(isNext, () => focusRow(1), true);
  useShortcut(isPrevious, () => focusRow(-1), true);
}

export function isQuestionMark({ key, metaKey, ctrlKey, altKey }: KeyboardEvent): boolean {
  return key === '?' && !metaKey && !ctrlKey && !altKey;
}
