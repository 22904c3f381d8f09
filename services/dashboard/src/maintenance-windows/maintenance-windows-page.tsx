import { Button, Skeleton, Stack, Text } from '@mantine/core';
import { IconCalendarPause, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { MOST_WINDOWS, windowsQuery } from './queries.ts';
import { sortWindows } from './sort-windows.ts';
import { WindowTable } from './window-table.tsx';

const PARTS = [
  { state: 'running', title: 'Running now' },
  { state: 'scheduled', title: 'Scheduled' },
  { state: 'ended', title: 'Ended' },
] as const;

export function MaintenanceWindowsPage(): ReactNode {
  const { data, error, refetch } = useQuery(windowsQuery);
  return (
    <>
      <PageHeader
        title="Maintenance"
        hint="Times in which monitors are checked and nothing alerts."
        actions={
          <Button component={Link} to="/maintenance/new" leftSection={<IconPlus size={16} aria-hidden />}>
            New window
          </Button>
        }
      />
      {data === undefined ? (
        error === null ? (
          <Panel>
            <Skeleton height={180} />
          </Panel>
        ) : (
          <ErrorNotice error={error} retry={() => void refetch()} />
        )
      ) : data.length === 0 ? (
        <EmptyState
          icon={IconCalendarPause}
          title="Nothing is planned"
          action={
            <Button component={Link} to="/maintenance/new">
              Plan the first window
            </Button>
          }
        >
          Plan a window before you take something down, once or every week: nobody is woken by what you mean
          to do.
        </EmptyState>
      ) : (
        <Stack>
          {PARTS.map(({ state, title }) => {
            const windows = sortWindows(data, state);
            return (
              windows.length > 0 && (
                <Panel key={state} title={title}>
                  <WindowTable label={title} state={state} windows={windows} />
                </Panel>
              )
            );
          })}
          {data.length >= MOST_WINDOWS && (
            <Text size="sm" c="var(--text-quiet)">
              These are the newest {data.length}; there may be older ones.
            </Text>
          )}
        </Stack>
      )}
    </>
  );
}
