import { Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { useNow } from '../components/text.tsx';
import { readerZone } from '../components/zoned-time.ts';
import { describeDay, groupByDay } from './group-by-day.ts';

interface DaysProps<Item> {
  readonly items: readonly Item[];
  /** Returns ISO 8601. */
  readonly timeOf: (item: Item) => string;
  readonly order: 2 | 3;
  readonly children: (items: readonly Item[]) => ReactNode;
}

/** A section for each day in the reader's time zone, in the order of the items. */
export function Days<Item>({ items, timeOf, order, children }: DaysProps<Item>): ReactNode {
  const zone = readerZone();
  const now = useNow();
  return [...groupByDay(items, timeOf, zone)].map(([date, ofDay]) => {
    const day = describeDay(date, now, zone);
    return (
      <section key={date} aria-label={day}>
        <Title order={order} size="h6" c="var(--text-quiet)" mb="2xs">
          {day}
        </Title>
        {children(ofDay)}
      </section>
    );
  });
}
