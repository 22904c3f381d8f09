import { Stack } from '@mantine/core';
import {
  IconCalendarEvent,
  IconCalendarPause,
  IconCheck,
  IconClockPause,
  IconPlus,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type {
  ListedMaintenanceWindow,
  MaintenanceWindowState,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { ReactNode } from 'react';
import { LinkButton } from '../components/buttons.tsx';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable } from '../components/data-table.tsx';
import { EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Quiet, type StateLook, TextLink, Time } from '../components/text.tsx';
import { CoveredCount, SelectorNote } from '../labels/coverage-fields.tsx';
import { ScheduleSentence, SkippedStart } from './schedule.tsx';
import { MAX_WINDOWS, sortWindows, windowsQuery } from './queries.ts';
import { useCan } from '../session/session.ts';

const SECTIONS = [
  { state: 'running', title: 'Running now', timeTitle: 'Ends' },
  { state: 'scheduled', title: 'Scheduled', timeTitle: 'Next' },
  { state: 'ended', title: 'Ended', timeTitle: 'Started' },
] as const;
export const WINDOW_LOOKS: Readonly<Record<MaintenanceWindowState, StateLook>> = {
  running: { label: 'Running', icon: IconClockPause, tone: 'maintenance' },
  scheduled: { label: 'Scheduled', icon: IconCalendarEvent, tone: 'plain' },
  ended: { label: 'Ended', icon: IconCheck, tone: 'quiet' },
};

export function WindowsPage(): ReactNode {
  const query = useQuery(windowsQuery);
  const create = useCan().change && (
    <LinkButton variant="filled" icon={IconPlus} to="/maintenance/new">
      New window
    </LinkButton>
  );
  const empty = (
    <EmptyState icon={IconCalendarPause} title="No maintenance windows yet" action={create}>
      During a window, monitors are checked but send no alerts. Plan one before you take a system down.
    </EmptyState>
  );
  return (
    <>
      <PageHeader
        title="Maintenance"
        hint="Checks continue, alerts pause"
        actions={query.data?.length !== 0 && create}
      />
      <Loaded query={query} pending={<Placeholder heights={[214]} />} empty={empty}>
        {(windows) => (
          <Stack>
            {SECTIONS.map((section) => (
              <Section key={section.state} windows={sortWindows(windows, section.state)} {...section} />
            ))}
            {windows.length >= MAX_WINDOWS && (
              <Quiet>Only the newest {windows.length} windows are shown.</Quiet>
            )}
          </Stack>
        )}
      </Loaded>
    </>
  );
}

interface SectionProps {
  readonly title: string;
  readonly timeTitle: string;
  readonly windows: readonly ListedMaintenanceWindow[];
}

function Section({ title, timeTitle, windows }: SectionProps): ReactNode {
  if (windows.length === 0) return null;
  return (
    <Panel title={title}>
      <DataTable
        label={title}
        rows={windows}
        rowKey={({ id }) => id}
        columns={{
          Name: ({ id, name }) => (
            <TextLink to="/maintenance/$windowId" params={{ windowId: id }} fw={500}>
              {name}
            </TextLink>
          ),
          [timeTitle]: (window) => <When window={window} />,
          Schedule: (window) => (
            <Quiet maw={480}>
              <ScheduleSentence schedule={window} />
              <SkippedStart changes={window.clockChanges} timeZone={window.timeZone} />
            </Quiet>
          ),
          Monitors: (window) => (
            <div>
              <CoveredCount coverage={window} />
              <SelectorNote coverage={window} />
            </div>
          ),
        }}
      />
    </Panel>
  );
}

function When({ window }: { readonly window: ListedMaintenanceWindow }): ReactNode {
  const { state, currentOccurrence, nextOccurrence, startsAt } = window;
  const time = state === 'running' ? currentOccurrence?.endsAt : nextOccurrence?.startsAt;
  if (state === 'ended') return <Time value={startsAt} />;
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
