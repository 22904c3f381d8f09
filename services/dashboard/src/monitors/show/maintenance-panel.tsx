import { Anchor, Skeleton, Stack, Text } from '@mantine/core';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../../app/page-states.tsx';
import { Panel } from '../../components/panel.tsx';
import { Time } from '../../components/time.tsx';
import { maintenanceOf } from './maintenance-of.ts';
import { allWindowsQuery } from './queries.ts';
import classes from './show.module.css';

const MOST_SHOWN = 5;

/** The maintenance windows that silence the monitor now or next. */
export function MaintenancePanel({ monitorId }: { readonly monitorId: string }): ReactNode {
  const { data, error, refetch } = useQuery(allWindowsQuery);
  const windows = data && maintenanceOf(monitorId, data);
  return (
    <Panel title="Maintenance">
      {!windows && !error && <Skeleton height={56} />}
      {!windows && error && <ErrorNotice error={error} retry={() => void refetch()} />}
      {windows?.length === 0 && (
        <Text size="sm" component="div" c="var(--text-quiet)">
          Nothing is planned.{' '}
          <Anchor
            size="sm"
            underline="always"
            renderRoot={(props) => <Link {...props} to="/maintenance/new" search={{ monitorId }} />}
          >
            Plan a window
          </Anchor>
        </Text>
      )}
      {windows && windows.length > 0 && (
        <Stack gap="xs">
          <ul className={classes['list']}>
            {windows.slice(0, MOST_SHOWN).map((window) => (
              <WindowItem key={window.id} window={window} />
            ))}
          </ul>
          {windows.length > MOST_SHOWN && (
            <Anchor component={Link} to="/maintenance" size="sm">
              {windows.length - MOST_SHOWN} more
            </Anchor>
          )}
        </Stack>
      )}
    </Panel>
  );
}

function WindowItem({ window }: { readonly window: ListedMaintenanceWindow }): ReactNode {
  const { id, name, currentOccurrence, nextOccurrence, rrule } = window;
  const occurrence = currentOccurrence ?? nextOccurrence;
  return (
    <li>
      <Anchor
        size="sm"
        fw={600}
        className={classes['address'] ?? ''}
        renderRoot={(props) => <Link {...props} to="/maintenance/$windowId" params={{ windowId: id }} />}
      >
        {name}
      </Anchor>
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
