import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { readerZone } from '../components/zoned-time.ts';
import { Moment } from './moment.tsx';
import type { Occurrence } from './occurrences.ts';

interface OccurrenceTableProps {
  readonly occurrences: readonly Occurrence[];
  /** The window's. */
  readonly timeZone: string;
}

/** When a window takes place, by the clocks of its zone and by the reader's; by UTC where these are one. */
export function OccurrenceTable({ occurrences, timeZone }: OccurrenceTableProps): ReactNode {
  const reader = readerZone();
  const other = timeZone === reader ? 'UTC' : reader;
  const zones = timeZone === other ? [timeZone] : [timeZone, other];
  return (
    <Table.ScrollContainer minWidth={200} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table aria-label="Next times" verticalSpacing={6} borderColor="var(--line)" className="tabular">
        <Table.Thead>
          <Table.Tr>
            {zones.map((zone) => (
              <Table.Th key={zone} scope="col" fz="xs" c="var(--text-quiet)">
                {zone === reader ? `${zone} (yours)` : zone}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {occurrences.map(({ startsAt }) => (
            <Table.Tr key={startsAt}>
              {zones.map((zone) => (
                <Table.Td key={zone} fz="sm">
                  <Moment value={startsAt} zone={zone} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
