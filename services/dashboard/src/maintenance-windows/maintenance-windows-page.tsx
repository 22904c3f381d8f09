import { Button, Skeleton, Stack, Table, Text } from '@mantine/core';
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
import { CardCell, CardTable } from '../components/card-table.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { StateBadge, type StateLook } from '../components/state-badge.tsx';
import { TextLink } from '../components/text-link.tsx';
import { Time } from '../components/time.tsx';
import { ScheduleSentence } from './occurrence-table.tsx';
import { MOST_WINDOWS, sortWindows, windowsQuery } from './queries.ts';

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

interface WindowTableProps {
  readonly label: string;
  readonly state: MaintenanceWindowState;
  readonly windows: readonly ListedMaintenanceWindow[];
}

const WHEN = { running: 'Ends', scheduled: 'Next', ended: 'Began' } as const;

/** Windows in one state. */
export function WindowTable({ label, state, windows }: WindowTableProps): ReactNode {
  return (
    <CardTable label={label} columns={['Name', WHEN[state], 'Plan', 'Monitors']}>
      {windows.map((window) => (
        <Table.Tr key={window.id}>
          <CardCell column="Name" heading>
            <TextLink to="/maintenance/$windowId" params={{ windowId: window.id }} fw={600}>
              {window.name}
            </TextLink>
          </CardCell>
          <CardCell column={WHEN[state]}>
            <When window={window} />
          </CardCell>
          <CardCell column="Plan">
            <Text size="sm" c="var(--text-quiet)" maw={480}>
              <ScheduleSentence schedule={window} />
            </Text>
          </CardCell>
          <CardCell column="Monitors">
            <span className="tabular">{window.monitorIds.length}</span>
          </CardCell>
        </Table.Tr>
      ))}
    </CardTable>
  );
}

function When({ window }: { readonly window: ListedMaintenanceWindow }): ReactNode {
  const { state, currentOccurrence, nextOccurrence, startsAt } = window;
  if (state === 'ended') return <Time value={startsAt} />;
  const moment = state === 'running' ? currentOccurrence?.endsAt : nextOccurrence?.startsAt;
  if (moment === undefined) return '–';
  return (
    <div>
      <Time value={moment} as="ago" />
      <Text size="xs" c="var(--text-quiet)">
        <Time value={moment} />
      </Text>
    </div>
  );
}

const LOOKS: Readonly<Record<MaintenanceWindowState, StateLook>> = {
  running: { label: 'Running', icon: IconClockPause, tone: 'maintenance' },
  scheduled: { label: 'Scheduled', icon: IconCalendarEvent, tone: 'plain' },
  ended: { label: 'Ended', icon: IconCheck, tone: 'quiet' },
};

export function WindowStateBadge({ state }: { readonly state: MaintenanceWindowState }): ReactNode {
  return <StateBadge look={LOOKS[state]} />;
}
