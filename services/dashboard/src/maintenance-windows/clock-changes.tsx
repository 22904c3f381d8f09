import { Alert, Stack } from '@mantine/core';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { ReactNode } from 'react';
import { Quiet } from '../components/text.tsx';
import { describeClockChange } from './schedule-text.ts';

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
