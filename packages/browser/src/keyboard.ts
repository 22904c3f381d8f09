import { until } from '@tocsin/embedded/testing/until';
import type { Page } from 'playwright-core';

/** Presses keys on a page, and checks after each that the focus is visible. */
export interface Keyboard {
  /** Presses Tab until the element with this name has the focus. @param role tells elements with the same name apart */
  reach(name: string | RegExp, role?: string): Promise<void>;
  /** Presses Shift and Tab instead. */
  reachBack(name: string | RegExp, role?: string): Promise<void>;
  /** Presses the down arrow instead, as in a menu. */
  reachBelow(name: string | RegExp): Promise<void>;
  /** Presses keys such as `Enter` or `Control+K`, one at a time. */
  press(...keys: readonly string[]): Promise<void>;
  type(text: string): Promise<void>;
  /** Waits until the element with this name has the focus, such as a heading after a navigation or a field of a dialog. */
  landsOn(name: string, role?: string): Promise<unknown>;
  /** Returns the focused element. */
  focused(): Promise<Focused>;
}

interface Focused {
  /** Empty for the body. */
  readonly name: string;
  readonly role: string;
  /** The element is on the screen and has a focus ring. */
  readonly isVisible: boolean;
}

/** More than any page has. */
const MAX_TABS = 150;

export function useKeyboard(page: Page): Keyboard {
  const focused = (): Promise<Focused> => page.evaluate(readFocus);
  /** Returns the focused element once it is visible, because notifications slide in and out. @throws Error if it stays invisible */
  const focusedVisibly = async (): Promise<Focused> => {
    const first = await focused();
    if (first.isVisible) return first;
    return until(`the focus on “${first.name}” to be visible`, async () => {
      const now = await focused();
      return now.isVisible && now;
    });
  };
  const pressUntil = async (key: string, name: string | RegExp, role?: string): Promise<void> => {
    const passed: string[] = [];
    for (let count = 0; count < MAX_TABS; count += 1) {
      await page.keyboard.press(key);
      const now = await focusedVisibly();
      const isNamed = typeof name === 'string' ? now.name === name : name.test(now.name);
      if (isNamed && (role === undefined || now.role === role)) return;
      passed.push(`${now.role} “${now.name}”`);
    }
    throw new Error(`${key} did not reach ${String(name)}, only ${[...new Set(passed)].join(', ')}`);
  };
  return {
    focused,
    reach: (name, role) => pressUntil('Tab', name, role),
    reachBack: (name, role) => pressUntil('Shift+Tab', name, role),
    reachBelow: (name) => pressUntil('ArrowDown', name),
    press: async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    },
    type: (text) => page.keyboard.type(text),
    landsOn: (name, role) =>
      until(`the focus on ${role ?? ''} “${name}”`, async () => {
        const now = await focused();
        return now.name === name && (role === undefined || now.role === role);
      }),
  };
}

/** Runs in the page. */
function readFocus(): Focused {
  const element = document.activeElement;
  if (!(element instanceof HTMLElement) || element === document.body)
    return { name: '', role: 'body', isVisible: true };
  const label = (element as Partial<HTMLInputElement>).labels?.[0]?.innerText;
  const name = element.getAttribute('aria-label') ?? label ?? element.innerText;
  /** The focus ring can be on the element, on the overlay of its row, on the box of a hidden input, or on the field around an input. */
  const { nextElementSibling: sibling } = element;
  const field = element.closest('.mantine-Input-input');
  const styles = [
    getComputedStyle(element),
    getComputedStyle(element, '::after'),
    ...(sibling === null ? [] : [getComputedStyle(sibling)]),
    ...(field === null ? [] : [getComputedStyle(field)]),
  ];
  const hasRing = styles.some(
    ({ outlineStyle, outlineWidth, boxShadow }) =>
      (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none',
  );
  const { top, bottom, left, right } = element.getBoundingClientRect();
  const isOnScreen = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
  return {
    name: name
      .replace(/\s*\*$/, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
    role: element.getAttribute('role') ?? element.tagName.toLowerCase(),
    isVisible: isOnScreen && hasRing,
  };
}
