import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { formatUtc } from '../components/format-time.ts';
import { readerZone } from '../components/zoned-time.ts';
import type { Occurrence, Schedule } from './occurrences.ts';
import { describeSchedule, describeScheduleUtc, formatMoment } from './schedule-text.ts';

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

interface MomentProps {
  /** ISO 8601. */
  readonly value: string;
  readonly zone: string;
}

/** A moment by the clocks of a zone; UTC on hover. */
export function Moment({ value, zone }: MomentProps): ReactNode {
  return (
    <time dateTime={value} title={formatUtc(new Date(value))}>
      {formatMoment(value, zone)}
    </time>
  );
}

/** When a window takes place, by the clocks of its zone; UTC on hover. */
export function ScheduleSentence({ schedule }: { readonly schedule: Schedule }): ReactNode {
  return <span title={describeScheduleUtc(schedule)}>{describeSchedule(schedule)}</span>;
}
