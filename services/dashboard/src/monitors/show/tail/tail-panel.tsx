import { Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import type { Event } from '@tocsin/contracts/monitors/events';
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../../../components/load-states.tsx';
import { Panel } from '../../../components/page.tsx';
import { useLiveStream } from '../../../live/live-provider.tsx';
import { eventLoader } from '../../queries.ts';
import { EventTable } from './event-table.tsx';
import { countNewer, EventTail, type TailSnapshot } from './event-tail.ts';

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

/** The latest events of one monitor, as they happen. */
export function useEventTail(monitorId: string): TailSnapshot & { readonly catchUp: () => void } {
  const stream = useLiveStream();
  const tail = useMemo(() => new EventTail(monitorId, stream, eventLoader(monitorId)), [monitorId, stream]);
  useEffect(() => tail.start(), [tail]);
  const subscribe = useCallback((listener: () => void) => tail.onChange(listener), [tail]);
  const snapshot = useSyncExternalStore(subscribe, () => tail.snapshot);
  return { ...snapshot, catchUp: () => void tail.catchUp() };
}

interface Pause {
  /** The events as they were when it was paused, else as they are. */
  readonly shown: readonly Event[];
  readonly paused: boolean;
  /** How many came since. */
  readonly newer: number;
  readonly pause: () => void;
  readonly resume: () => void;
}

/** Holds a list still while somebody reads it; what comes meanwhile is kept. */
export function usePause(events: readonly Event[]): Pause {
  const [frozen, setFrozen] = useState<readonly Event[] | null>(null);
  return {
    shown: frozen ?? events,
    paused: frozen !== null,
    newer: frozen === null ? 0 : countNewer(events, frozen),
    pause: () => setFrozen(events),
    resume: () => setFrozen(null),
  };
}
