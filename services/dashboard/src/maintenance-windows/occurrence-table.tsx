import { Table } from '@mantine/core';
import type { ReactNode } from 'react';
import { formatUtc } from '../components/format.ts';
import { readerZone } from '../components/zoned-time.ts';
import { describeSchedule, describeScheduleUtc, formatInZone, type Schedule } from './schedule-text.ts';

interface OccurrenceTableProps {
  readonly occurrences: readonly { readonly startsAt: string }[];
  /** The time zone of the window. */
  readonly timeZone: string;
}

/** The starts of occurrences in the zone of the window and the zone of the reader, or UTC if both are the same. */
export function OccurrenceTable({ occurrences, timeZone }: OccurrenceTableProps): ReactNode {
  const reader = readerZone();
  const zones = [...new Set([timeZone, timeZone === reader ? 'UTC' : reader])];
  return (
    <Table.ScrollContainer minWidth={200} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table aria-label="Occurrences" verticalSpacing={6} borderColor="var(--line)" className="tabular">
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
                  <ZonedTime value={startsAt} zone={zone} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

interface ZonedTimeProps {
  /** ISO 8601. */
  readonly value: string;
  readonly zone: string;
}

/** A local time in a zone; UTC on hover. */
export function ZonedTime({ value, zone }: ZonedTimeProps): ReactNode {
  return (
    <time dateTime={value} title={formatUtc(new Date(value))}>
      {formatInZone(value, zone)}
    </time>
  );
}

/** The schedule of a window in words; the first occurrence in UTC on hover. */
export function ScheduleSentence({ schedule }: { readonly schedule: Schedule }): ReactNode {
  return <span title={describeScheduleUtc(schedule)}>{describeSchedule(schedule)}</span>;
}
