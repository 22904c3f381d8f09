import { Button, Skeleton, Stack, Text } from '@mantine/core';
import { IconCalendarPause, IconPlus } from '@tabler/icons-react';
import type { ListedMaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { EmptyState } from '../components/empty-state.tsx';
import { Loaded } from '../components/loaded.tsx';
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
  const query = useQuery(windowsQuery);
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
      <Loaded
        query={query}
        pending={
          <Panel>
            <Skeleton height={180} />
          </Panel>
        }
      >
        {(windows) => (windows.length === 0 ? <NothingPlanned /> : <Windows windows={windows} />)}
      </Loaded>
    </>
  );
}

function NothingPlanned(): ReactNode {
  return (
    <EmptyState
      icon={IconCalendarPause}
      title="Nothing is planned"
      action={
        <Button component={Link} to="/maintenance/new">
          Plan the first window
        </Button>
      }
    >
      Plan a window before you take something down, once or every week: nobody is woken by what you mean to
      do.
    </EmptyState>
  );
}

function Windows({ windows }: { readonly windows: readonly ListedMaintenanceWindow[] }): ReactNode {
  return (
    <Stack>
      {PARTS.map(({ state, title }) => {
        const sorted = sortWindows(windows, state);
        return (
          sorted.length > 0 && (
            <Panel key={state} title={title}>
              <WindowTable label={title} state={state} windows={sorted} />
            </Panel>
          )
        );
      })}
      {windows.length >= MOST_WINDOWS && (
        <Text size="sm" c="var(--text-quiet)">
          These are the newest {windows.length}; there may be older ones.
        </Text>
      )}
    </Stack>
  );
}
