import { Group, Skeleton, Stack } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Event } from '@tocsin/contracts/monitors/events';
import { type ReactNode, useState } from 'react';
import { IconButton } from '../../../components/buttons.tsx';
import { ErrorNotice } from '../../../components/load-states.tsx';
import { Panel } from '../../../components/page.tsx';
import { Quiet } from '../../../components/text.tsx';
import { eventTailQuery } from '../../queries.ts';
import { EventTable } from './event-table.tsx';
import { countNewer } from './event-tail.ts';

const TITLE = 'Latest events';
const NO_EVENTS: readonly Event[] = [];

/** Live events of a monitor. Pausing freezes the list without losing events. */
export function TailPanel({ monitorId }: { readonly monitorId: string }): ReactNode {
  const { data: events = NO_EVENTS, dataUpdatedAt, error, refetch } = useQuery(eventTailQuery(monitorId));
  const isLoading = dataUpdatedAt === 0 && error === null;
  const [frozen, setFrozen] = useState<readonly Event[] | null>(null);
  const shown = frozen ?? events;
  const newer = frozen === null ? 0 : countNewer(events, frozen);
  return (
    <Panel
      title={TITLE}
      actions={
        <IconButton
          size="compact-sm"
          variant={frozen === null ? 'default' : 'filled'}
          icon={frozen === null ? IconPlayerPause : IconPlayerPlay}
          onClick={() => setFrozen(frozen === null ? events : null)}
          disabled={shown.length === 0}
        >
          {frozen === null ? 'Pause' : `Resume${newer > 0 ? ` (${newer} new)` : ''}`}
        </IconButton>
      }
    >
      <Stack gap="sm">
        {error !== null && <ErrorNotice error={error} retry={() => void refetch()} />}
        {shown.length > 0 && <EventTable events={shown} label={TITLE} maxHeight={560} />}
        {shown.length === 0 && isLoading && (
          <Group gap={8} role="status" aria-label="Loading the events">
            {Array.from({ length: 10 }, (_, index) => (
              <Skeleton key={index} height={28} />
            ))}
          </Group>
        )}
        {shown.length === 0 && !isLoading && error === null && (
          <Quiet>No events yet. The first check appears here automatically.</Quiet>
        )}
      </Stack>
    </Panel>
  );
}
