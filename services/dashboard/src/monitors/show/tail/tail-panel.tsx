import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../../../app/page-states.tsx';
import { Panel } from '../../../components/panel.tsx';
import { EventTable } from './event-table.tsx';
import { useEventTail } from './use-event-tail.ts';
import { usePause } from './use-pause.ts';

const TITLE = 'Latest events';
const MAX_HEIGHT = 560;

/** The events of the monitor as they happen, newest on top. */
export function TailPanel({ monitorId }: { readonly monitorId: string }): ReactNode {
  const { events, loading, error, catchUp } = useEventTail(monitorId);
  const { shown, paused, newer, pause, resume } = usePause(events);
  return (
    <Panel
      title={TITLE}
      actions={
        paused ? (
          <Button size="compact-sm" onClick={resume} leftSection={<IconPlayerPlay size={16} aria-hidden />}>
            Resume{newer > 0 ? ` (${newer} new)` : ''}
          </Button>
        ) : (
          <Button
            size="compact-sm"
            variant="default"
            onClick={pause}
            leftSection={<IconPlayerPause size={16} aria-hidden />}
            disabled={events.length === 0}
          >
            Pause
          </Button>
        )
      }
    >
      <Stack gap="sm">
        {error !== null && <ErrorNotice error={error} retry={catchUp} />}
        {loading && events.length === 0 && <TailSkeleton />}
        {!loading && events.length === 0 && error === null && (
          <Text size="sm" c="var(--text-quiet)">
            No events yet. The first check is on its way; it shows here by itself.
          </Text>
        )}
        {shown.length > 0 && <EventTable events={shown} label={TITLE} maxHeight={MAX_HEIGHT} />}
      </Stack>
    </Panel>
  );
}

function TailSkeleton(): ReactNode {
  return (
    <Group gap={8} role="status" aria-label="Loading the events">
      {Array.from({ length: 10 }, (_, index) => (
        <Skeleton key={index} height={28} />
      ))}
    </Group>
  );
}
