import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';
import type { RouterEvents } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { usePageTitle } from './page-title.ts';

/** True until a heading receives the focus after a navigation. */
let isHeadingDue = false;
/** Element to which the focus was moved. */
let focused: HTMLElement | null = null;

/**
 * Moves the focus to the heading of the page after a navigation to another path, so that keyboards and screen readers start there, as on a
 * page load. On the first page, and for links to a fragment, the browser has already set the focus.
 */
export function focusHeadingAfter(event: RouterEvents['onRendered']): void {
  const { fromLocation, toLocation, pathChanged } = event;
  if (fromLocation === undefined || !pathChanged || toLocation.hash !== '') return;
  isHeadingDue = true;
  focusHeading();
}

/** By then, a closed dialog has returned the focus to its button. */
const FOCUS_RETURNS_MS = 50;

/**
 * Keeps the focus on the page. A button that is disabled while it loads gets it back. When a dialog that had it is gone and nothing else has
 * it, such as after the deletion of the row whose button opened the dialog, the heading of the page gets it.
 */
export function keepFocus(): void {
  let last: HTMLElement | null = null;
  let wasInDialog = false;
  document.addEventListener('focusin', ({ target }) => {
    last = target instanceof HTMLElement ? target : null;
    wasInDialog = last !== null && last.closest('[role="dialog"]') !== null;
  });
  new MutationObserver((changes) => {
    if (last === null) return;
    if (last.isConnected) {
      const isEnabled = changes.some(({ type, target }) => type === 'attributes' && target === last);
      if (isEnabled && isLost() && !last.matches(':disabled')) last.focus({ preventScroll: true });
    } else if (wasInDialog) {
      wasInDialog = false;
      setTimeout(() => {
        if (isLost()) focusHeading();
      }, FOCUS_RETURNS_MS);
    }
  }).observe(document.body, { subtree: true, childList: true, attributeFilter: ['disabled'] });
}

function isLost(): boolean {
  return document.activeElement === document.body;
}

function focusHeading(): void {
  const main = document.querySelector('main');
  const { activeElement } = document;
  if (main === null) return;
  // The page has moved the focus itself.
  if (activeElement !== main && main.contains(activeElement)) {
    isHeadingDue = false;
    return;
  }
  const heading = main.querySelector('h1');
  isHeadingDue &&= heading === null;
  const target = heading ?? main;
  focused = target;
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
}

interface PageHeaderProps {
  readonly title: string;
  /** Defaults to `title`. */
  readonly documentTitle?: string;
  readonly hint?: ReactNode;
  readonly actions?: ReactNode;
}

export function PageHeader({ title, documentTitle = title, hint, actions }: PageHeaderProps): ReactNode {
  usePageTitle(documentTitle);
  // If a page loads its data, its heading renders after the navigation. Until then, the focus is on `main`, or was on something that is
  // gone now, such as an element of the previous page or the heading shown while the page loaded.
  useEffect(() => {
    const isGone = isHeadingDue || focused?.isConnected === false;
    if (document.activeElement?.tagName === 'MAIN' || (isGone && isLost())) focusHeading();
  }, []);
  return (
    <Group justify="space-between" align="flex-start" mb="lg">
      <Stack gap="2xs" miw={0} flex="1 1 160px">
        <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Title>
        {hint !== undefined && (
          <Text size="sm" c="var(--text-quiet)" component="div">
            {hint}
          </Text>
        )}
      </Stack>
      {actions !== undefined && actions !== false && (
        <Group gap="xs" data-actions>
          {actions}
        </Group>
      )}
    </Group>
  );
}

interface PanelProps {
  readonly title?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Panel({ title, actions, children }: PanelProps): ReactNode {
  return (
    <Paper component="section" withBorder bg="var(--surface)" p="md" {...(title && { 'aria-label': title })}>
      {title !== undefined && (
        <Group justify="space-between" mb="sm" mih={32}>
          <Title order={2} size="h5">
            {title}
          </Title>
          {actions}
        </Group>
      )}
      {children}
    </Paper>
  );
}

interface EmptyStateProps {
  readonly icon: Icon;
  readonly title: string;
  readonly children: ReactNode;
  readonly action?: ReactNode;
}

export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps): ReactNode {
  return (
    <Stack align="center" gap="sm" px="md" py="xl" bd="1px dashed var(--line)" bdrs="lg" bg="var(--surface)">
      <Icon size={40} stroke={1.4} aria-hidden />
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text size="sm" c="var(--text-quiet)" ta="center" maw={520} w="100%" component="div">
        {children}
      </Text>
      {action}
    </Stack>
  );
}

interface ScrollRegionProps {
  /** The accessible name. */
  readonly label: string;
  /** In pixels. By default, the content scrolls only horizontally. */
  readonly maxHeight?: number;
  readonly children: ReactNode;
}

/** Content that scrolls within its own container. */
export function ScrollRegion({ label, maxHeight, children }: ScrollRegionProps): ReactNode {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the keyboard scrolls only the focused element
    <div role="group" aria-label={label} tabIndex={0} style={{ maxHeight, overflow: 'auto' }}>
      {children}
    </div>
  );
}
