import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { ReactNode } from 'react';
import { Loaded } from '../../components/loaded.tsx';
import { Panel } from '../../components/panel.tsx';
import { TextLink } from '../../components/text-link.tsx';
import { Time } from '../../components/time.tsx';
import { maintenanceOf } from './maintenance-of.ts';
import { allWindowsQuery } from './queries.ts';
import classes from './show.module.css';

const MOST_SHOWN = 5;

/** The maintenance windows that silence the monitor now or next. */
export function MaintenancePanel({ monitorId }: { readonly monitorId: string }): ReactNode {
  const query = useQuery(allWindowsQuery);
  return (
    <Panel title="Maintenance">
      <Loaded query={query} pending={<Skeleton height={56} />}>
        {(all) => {
          const windows = maintenanceOf(monitorId, all);
          return windows.length === 0 ? (
            <NothingPlanned monitorId={monitorId} />
          ) : (
            <Windows windows={windows} />
          );
        }}
      </Loaded>
    </Panel>
  );
}

function NothingPlanned({ monitorId }: { readonly monitorId: string }): ReactNode {
  return (
    <Text size="sm" component="div" c="var(--text-quiet)">
      Nothing is planned.{' '}
      <TextLink to="/maintenance/new" search={{ monitorId }} size="sm" underline="always">
        Plan a window
      </TextLink>
    </Text>
  );
}

function Windows({ windows }: { readonly windows: readonly ListedMaintenanceWindow[] }): ReactNode {
  return (
    <Stack gap="xs">
      <ul className={classes['list']}>
        {windows.slice(0, MOST_SHOWN).map((window) => (
          <WindowItem key={window.id} window={window} />
        ))}
      </ul>
      {windows.length > MOST_SHOWN && (
        <TextLink to="/maintenance" size="sm">
          {windows.length - MOST_SHOWN} more
        </TextLink>
      )}
    </Stack>
  );
}

function WindowItem({ window }: { readonly window: ListedMaintenanceWindow }): ReactNode {
  const { id, name, currentOccurrence, nextOccurrence, rrule } = window;
  const occurrence = currentOccurrence ?? nextOccurrence;
  return (
    <li>
      <TextLink
        to="/maintenance/$windowId"
        params={{ windowId: id }}
        size="sm"
        fw={600}
        className={classes['address'] ?? ''}
      >
        {name}
      </TextLink>
      <Text size="xs" c="var(--text-quiet)">
        {currentOccurrence ? 'Runs now' : 'Next'}
        {rrule !== null && ', recurring'}
        {occurrence && (
          <>
            : <Time value={occurrence.startsAt} /> to <Time value={occurrence.endsAt} />
          </>
        )}
      </Text>
    </li>
  );
}
