import { Text } from '@mantine/core';
import { IconSquare, IconSquareCheckFilled } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, type KeyboardEvent, type ReactNode } from 'react';
import type { MonitorChoice } from './filter-monitors.ts';
import classes from './monitor-options.module.css';

interface MonitorOptionsProps {
  readonly id: string;
  readonly label: string;
  readonly monitors: readonly MonitorChoice[];
  readonly chosen: ReadonlySet<string>;
  /** Index of the one that keys act on. */
  readonly active: number;
  readonly onToggle: (monitorId: string, index: number) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

const ROW_PX = 34;

/** The list of a `MonitorSelect`: only what is in view is in the page, so that thousands stay quick. */
export function MonitorOptions(props: MonitorOptionsProps): ReactNode {
  const { id, label, monitors, chosen, active, onToggle, onKeyDown } = props;
  const scroller = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- nothing here is memoized by a compiler
  const virtualizer = useVirtualizer({
    count: monitors.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 8,
  });
  useEffect(() => {
    if (active < monitors.length) virtualizer.scrollToIndex(active, { align: 'auto' });
  }, [active, monitors.length, virtualizer]);
  return (
    <div
      ref={scroller}
      id={id}
      role="listbox"
      aria-label={label}
      aria-multiselectable
      aria-activedescendant={monitors[active] && `${id}-${active}`}
      tabIndex={0}
      onKeyDown={(event) => {
        if (event.key === ' ' && monitors[active] !== undefined) {
          event.preventDefault();
          onToggle(monitors[active].id, active);
          return;
        }
        onKeyDown(event);
      }}
      className={classes['options']}
    >
      <div style={{ height: virtualizer.getTotalSize(), position: 'relative' }} role="presentation">
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const monitor = monitors[index];
          if (monitor === undefined) return null;
          const isChosen = chosen.has(monitor.id);
          const Icon = isChosen ? IconSquareCheckFilled : IconSquare;
          return (
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the list and the search field take the keys
            <div
              key={monitor.id}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={isChosen}
              aria-setsize={monitors.length}
              aria-posinset={index + 1}
              data-active={index === active}
              className={classes['option']}
              style={{ height: ROW_PX, transform: `translateY(${start}px)` }}
              onClick={() => onToggle(monitor.id, index)}
            >
              <Icon size={18} aria-hidden className={classes['box']} />
              <Text component="span" size="sm" truncate className={classes['name'] ?? ''}>
                {monitor.name}
              </Text>
              <Text component="span" size="xs" c="var(--text-quiet)" truncate>
                {monitor.url}
              </Text>
            </div>
          );
        })}
      </div>
      {monitors.length === 0 && (
        <Text size="sm" c="var(--text-quiet)" p="sm" role="presentation">
          No monitor has this in its name or URL.
        </Text>
      )}
    </div>
  );
}
