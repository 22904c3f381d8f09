import { Button, Stack } from '@mantine/core';
import {
  IconCalendarEvent,
  IconCalendarPause,
  IconCheck,
  IconClockPause,
  IconPlus,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type {
  ListedMaintenanceWindow,
  MaintenanceWindowState,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { ReactNode } from 'react';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable, EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Quiet, StateBadge, type StateLook, TextLink, Time } from '../components/text.tsx';
import { ScheduleSentence } from './occurrence-table.tsx';
import { MAX_WINDOWS, sortWindows, windowsQuery } from './queries.ts';

const SECTIONS = [
  { state: 'running', title: 'Running now', timeTitle: 'Ends' },
  { state: 'scheduled', title: 'Scheduled', timeTitle: 'Next' },
  { state: 'ended', title: 'Ended', timeTitle: 'Started' },
] as const;
const LOOKS: Readonly<Record<MaintenanceWindowState, StateLook>> = {
  running: { label: 'Running', icon: IconClockPause, tone: 'maintenance' },
  scheduled: { label: 'Scheduled', icon: IconCalendarEvent, tone: 'plain' },
  ended: { label: 'Ended', icon: IconCheck, tone: 'quiet' },
};

export function MaintenanceWindowsPage(): ReactNode {
  const query = useQuery(windowsQuery);
  return (
    <>
      <PageHeader
        title="Maintenance"
        hint="During a maintenance window, monitors are checked but send no alerts."
        actions={
          <Button component={Link} to="/maintenance/new" leftSection={<IconPlus size={16} aria-hidden />}>
            New window
          </Button>
        }
      />
      <Loaded query={query} pending={<Placeholder heights={[214]} />}>
        {(windows) => (windows.length === 0 ? <NoWindows /> : <Windows windows={windows} />)}
      </Loaded>
    </>
  );
}

function NoWindows(): ReactNode {
  return (
    <EmptyState
      icon={IconCalendarPause}
      title="No maintenance windows yet"
      action={
        <Button component={Link} to="/maintenance/new">
          Plan the first window
        </Button>
      }
    >
      Plan a one-time or recurring window before you take a system down, so that you get no alerts for planned
      work.
    </EmptyState>
  );
}

function Windows({ windows }: { readonly windows: readonly ListedMaintenanceWindow[] }): ReactNode {
  return (
    <Stack>
      {SECTIONS.map(({ state, title, timeTitle }) => {
        const rows = sortWindows(windows, state);
        return (
          rows.length > 0 && (
            <Panel key={state} title={title}>
              <DataTable
                label={title}
                rows={rows}
                rowKey={({ id }) => id}
                columns={[
                  {
                    title: 'Name',
                    render: ({ id, name }) => (
                      <TextLink to="/maintenance/$windowId" params={{ windowId: id }} fw={600}>
                        {name}
                      </TextLink>
                    ),
                  },
                  { title: timeTitle, render: (window) => <When window={window} /> },
                  {
                    title: 'Schedule',
                    render: (window) => (
                      <Quiet maw={480}>
                        <ScheduleSentence schedule={window} />
                      </Quiet>
                    ),
                  },
                  { title: 'Monitors', render: ({ monitorIds }) => monitorIds.length },
                ]}
              />
            </Panel>
          )
        );
      })}
      {windows.length >= MAX_WINDOWS && <Quiet>Only the newest {windows.length} windows are shown.</Quiet>}
    </Stack>
  );
}

function When({ window }: { readonly window: ListedMaintenanceWindow }): ReactNode {
  const { state, currentOccurrence, nextOccurrence, startsAt } = window;
  if (state === 'ended') return <Time value={startsAt} />;
  const time = state === 'running' ? currentOccurrence?.endsAt : nextOccurrence?.startsAt;
  if (time === undefined) return '–';
  return (
    <div>
      <Time value={time} as="ago" />
      <Quiet size="xs">
        <Time value={time} />
      </Quiet>
    </div>
  );
}

export function WindowStateBadge({ state }: { readonly state: MaintenanceWindowState }): ReactNode {
  return <StateBadge look={LOOKS[state]} />;
}
