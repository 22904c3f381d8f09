import { VisuallyHidden } from '@mantine/core';
import type { Event } from '@tocsin/contracts/monitors/events';
import { type ReactNode, useCallback, useState } from 'react';
import { barScale } from '../phases.ts';
import { ScrollRegion } from '../scroll-region.tsx';
import classes from '../show.module.css';
import { EventRow } from './event-row.tsx';
import tailClasses from './tail.module.css';

interface EventTableProps {
  readonly events: readonly Event[];
  readonly label: string;
  readonly maxHeight: number;
}

export function EventTable({ events, label, maxHeight }: EventTableProps): ReactNode {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback(
    (id: string) =>
      setOpened((before) => {
        const after = new Set(before);
        if (!after.delete(id)) after.add(id);
        return after;
      }),
    [],
  );
  const scaleMs = barScale(Math.max(...events.map(({ latency }) => latency)));
  return (
    <ScrollRegion label={label} maxHeight={maxHeight}>
      <table className={`${classes['table'] ?? ''} ${tailClasses['table'] ?? ''}`}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Result</th>
            <th scope="col">Code</th>
            <th scope="col" className={classes['number']}>
              Latency
            </th>
            <th scope="col" className={tailClasses['wide']}>
              Phases
            </th>
            <th scope="col" className={tailClasses['wide']}>
              Region
            </th>
            <th scope="col">
              <VisuallyHidden>Details</VisuallyHidden>
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <EventRow
              key={event.id}
              event={event}
              scaleMs={scaleMs}
              opened={opened.has(event.id)}
              onToggle={toggle}
            />
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
