import { Alert, Stack } from '@mantine/core';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { ReactNode } from 'react';
import { formatUtc } from '../components/format.ts';
import { DataTable } from '../components/data-table.tsx';
import { Quiet } from '../components/text.tsx';
import { readerZone } from '../components/zoned-time.ts';
import {
  describeClockChange,
  describeSchedule,
  describeScheduleUtc,
  formatInZone,
  type Schedule,
} from './schedule-text.ts';

interface OccurrenceTableProps {
  readonly occurrences: readonly { readonly startsAt: string }[];
  /** Time zone of the window. */
  readonly timeZone: string;
}

/** Starts of occurrences in the time zone of the window, and in that of the user or UTC. */
export function OccurrenceTable({ occurrences, timeZone }: OccurrenceTableProps): ReactNode {
  if (occurrences.length === 0) return <Quiet>All occurrences are in the past.</Quiet>;
  const reader = readerZone();
  const zones = [timeZone, timeZone === reader ? 'UTC' : reader];
  return (
    <DataTable
      label="Occurrences"
      rows={occurrences.map(({ startsAt }) => startsAt)}
      rowKey={String}
      columns={Object.fromEntries(
        zones.map((zone) => [
          zone === reader ? `${zone} (yours)` : zone,
          (startsAt: string) => <ZonedTime value={startsAt} zone={zone} />,
        ]),
      )}
    />
  );
}

interface ZonedTimeProps {
  /** ISO 8601. */
  readonly value: string;
  readonly zone: string;
}

/** A local time in a zone, with UTC on hover. */
export function ZonedTime({ value, zone }: ZonedTimeProps): ReactNode {
  return (
    <time dateTime={value} title={formatUtc(new Date(value))}>
      {formatInZone(value, zone)}
    </time>
  );
}

/** The schedule of a window in words, with the first occurrence in UTC on hover. */
export function ScheduleSentence({ schedule }: { readonly schedule: Schedule }): ReactNode {
  return <span title={describeScheduleUtc(schedule)}>{describeSchedule(schedule)}</span>;
}

const MAX_SHOWN = 4;

interface ClockChangesProps {
  readonly changes: MaintenanceWindow['clockChanges'];
  readonly timeZone: string;
}

/** Lists the days on which the clocks skip or repeat the start. */
export function ClockChanges({ changes, timeZone }: ClockChangesProps): ReactNode {
  if (changes.length === 0) return null;
  return (
    <Alert color="gray" title="Clock changes">
      <Stack gap={4} component="ul" m={0} pl="md">
        {changes.slice(0, MAX_SHOWN).map((change) => (
          <li key={change.localTime}>{describeClockChange(change, timeZone)}</li>
        ))}
        {changes.length > MAX_SHOWN && <li>and {changes.length - MAX_SHOWN} more</li>}
      </Stack>
    </Alert>
  );
}

/** Shows the next day on which a window does not take place. */
export function SkippedStart({ changes, timeZone }: ClockChangesProps): ReactNode {
  const skipped = changes.find(({ occurs }) => occurs === 'never');
  return skipped !== undefined && <Quiet size="xs">{describeClockChange(skipped, timeZone)}</Quiet>;
}
