import { Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconPencil, IconPlayerStop } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api, isStatus } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { DataTable } from '../components/data-table.tsx';
import { ConfirmButton, DeleteButton } from '../components/dialogs.tsx';
import { sortMonitors } from '../components/filter-monitors.ts';
import { Loaded, NotFoundPage, Placeholder } from '../components/load-states.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { ManagedAsCode } from '../components/save-form.tsx';
import { Quiet, StateBadge, StatusBadge, TextLink, Time } from '../components/text.tsx';
import { SelectorNote } from '../labels/coverage-fields.tsx';
import { describeCoverage, listCovered } from '../labels/coverage.ts';
import { monitorsQuery } from '../monitors/queries.ts';
import { shownStatus } from '../monitors/shown-status.ts';
import { ClockChanges, OccurrenceTable, ScheduleSentence } from './schedule.tsx';
import { WINDOW_LOOKS } from './windows-page.tsx';
import { windowQuery, windowsQuery } from './queries.ts';
import { EditWindowForm } from './window-form.tsx';
import { useCan } from '../session/session.ts';

const route = getRouteApi('/signed-in/maintenance/$windowId');
const MAX_MONITORS = 50;

interface WindowProps {
  readonly window: MaintenanceWindow;
}

export function WindowPage(): ReactNode {
  const { windowId } = route.useParams();
  const query = useQuery(windowQuery(windowId));
  if (isStatus(query.error, 404)) return <NotFoundPage />;
  return (
    <Loaded query={query} pending={<Placeholder heights={[62, 254]} />}>
      {(window) => <Content key={window.id} window={window} />}
    </Loaded>
  );
}

function Content({ window }: WindowProps): ReactNode {
  const [editing, edit] = useDisclosure();
  const can = useCan();
  const { id, name, state, currentOccurrence, nextOccurrence } = window;
  const next = currentOccurrence?.endsAt ?? nextOccurrence?.startsAt;
  return (
    <>
      <PageHeader
        title={name}
        hint={
          <Group gap="sm">
            <StateBadge look={WINDOW_LOOKS[state]} />
            {next !== undefined && (
              <span>
                {state === 'running' ? 'ends' : 'starts'} <Time value={next} as="ago" />
              </span>
            )}
          </Group>
        }
        actions={
          can.change &&
          !editing && (
            <>
              {state === 'running' && <EndNow window={window} />}
              <IconButton icon={IconPencil} onClick={edit.open}>
                Edit
              </IconButton>
              <DeleteButton
                id={id}
                name={name}
                title="Delete this maintenance window"
                remove={() => api('DELETE /api/dashboard/maintenance-windows/:id', { id })}
                listPath="/maintenance"
                list={windowsQuery}
                detail={windowQuery(id)}
              >
                {state === 'running' && 'Maintenance ends at once, and monitors that are down send alerts. '}
                All future occurrences are canceled.
              </DeleteButton>
            </>
          )
        }
      />
      {can.change && window.source !== null && (
        <ManagedAsCode what="maintenance window" source={window.source} />
      )}
      {editing ? <EditWindowForm window={window} onDone={edit.close} /> : <Details window={window} />}
    </>
  );
}

function Details({ window }: WindowProps): ReactNode {
  const { rrule, timeZone, upcoming, currentOccurrence } = window;
  const { data: monitors } = useQuery(monitorsQuery);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Panel title="Schedule">
        <Stack gap="sm">
          <Text size="sm">
            <ScheduleSentence schedule={window} />
          </Text>
          {rrule !== null && (
            <Quiet>
              Rule <Code style={{ overflowWrap: 'anywhere' }}>{rrule}</Code>
            </Quiet>
          )}
          <OccurrenceTable
            occurrences={currentOccurrence === null ? upcoming : [currentOccurrence, ...upcoming]}
            timeZone={timeZone}
          />
          <ClockChanges changes={window.clockChanges} timeZone={timeZone} />
        </Stack>
      </Panel>
      <Panel title={describeCoverage(window, monitors)}>
        <SelectorNote coverage={window} />
        <Monitors monitors={sortMonitors(listCovered(window, monitors ?? []))} />
      </Panel>
    </SimpleGrid>
  );
}

function Monitors({ monitors }: { readonly monitors: readonly MonitorOverview[] }): ReactNode {
  return (
    <>
      <DataTable
        label="Monitors"
        rows={monitors.slice(0, MAX_MONITORS)}
        rowKey={({ id }) => id}
        columns={{
          Name: ({ id, name }) => (
            <TextLink to="/monitors/$monitorId" params={{ monitorId: id }} size="sm" c="inherit">
              {name}
            </TextLink>
          ),
          Status: (monitor) => <StatusBadge status={shownStatus(monitor)} isFailing={monitor.failing} />,
        }}
      />
      {monitors.length > MAX_MONITORS && <Quiet>and {monitors.length - MAX_MONITORS} more</Quiet>}
    </>
  );
}

function EndNow({ window: { id, nextOccurrence } }: WindowProps): ReactNode {
  const refresh = useRefresh();
  const end = async (): Promise<void> => {
    await api('POST /api/dashboard/maintenance-windows/:id/end', { id });
    await refresh(windowsQuery, windowQuery(id));
    notifications.show({
      message: 'Maintenance ended. Its monitors send alerts again within two seconds.',
    });
  };
  return (
    <ConfirmButton
      button={{ variant: 'filled', icon: IconPlayerStop, children: 'End now' }}
      title="End maintenance now"
      action="End now"
      cancel="Keep it running"
      color="cyan"
      onConfirm={end}
    >
      Monitors that are down send alerts at once.{' '}
      {nextOccurrence === null ? (
        'The window has no further occurrences.'
      ) : (
        <>
          The next occurrence starts on <Time value={nextOccurrence.startsAt} />, as planned.
        </>
      )}
    </ConfirmButton>
  );
}
