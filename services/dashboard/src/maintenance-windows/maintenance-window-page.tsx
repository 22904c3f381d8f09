import { Code, Grid, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconPencil, IconPlayerStop } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api, isStatus } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { ConfirmDialog, DeleteButton } from '../components/dialogs.tsx';
import { sortMonitors } from '../components/filter-monitors.ts';
import { Loaded, NotFoundPage, Placeholder } from '../components/load-states.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { Quiet, StatusBadge, TextLink, Time } from '../components/text.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { WindowStateBadge } from './maintenance-windows-page.tsx';
import { OccurrenceTable, ScheduleSentence } from './occurrence-table.tsx';
import { windowQuery, windowsQuery } from './queries.ts';
import { EditWindowForm } from './window-form.tsx';

const route = getRouteApi('/signed-in/maintenance/$windowId');
const MAX_MONITORS = 50;

interface WindowProps {
  readonly window: MaintenanceWindow;
}

export function MaintenanceWindowPage(): ReactNode {
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
  const { id, name, state, currentOccurrence, nextOccurrence } = window;
  return (
    <>
      <PageHeader
        title={name}
        hint={
          <Group gap="sm">
            <WindowStateBadge state={state} />
            {currentOccurrence !== null ? (
              <span>
                ends <Time value={currentOccurrence.endsAt} as="ago" />
              </span>
            ) : (
              nextOccurrence !== null && (
                <span>
                  starts <Time value={nextOccurrence.startsAt} as="ago" />
                </span>
              )
            )}
          </Group>
        }
        actions={
          !editing && (
            <>
              <EndNow window={window} />
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
                {state === 'running' && 'Maintenance ends at once: monitors that are down send alerts. '}
                No further occurrences take place.
              </DeleteButton>
            </>
          )
        }
      />
      {editing ? <EditWindowForm window={window} onDone={edit.close} /> : <Details window={window} />}
    </>
  );
}

function Details({ window }: WindowProps): ReactNode {
  const { rrule, timeZone, upcoming, currentOccurrence, monitorIds } = window;
  const occurrences = currentOccurrence === null ? upcoming : [currentOccurrence, ...upcoming];
  return (
    <Grid>
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Panel title="Schedule">
          <Stack gap="sm">
            <Text size="sm">
              <ScheduleSentence schedule={window} />
            </Text>
            {rrule !== null && (
              <Group gap="xs">
                <Quiet size="xs">Rule</Quiet>
                <Code style={{ overflowWrap: 'anywhere' }}>{rrule}</Code>
              </Group>
            )}
            {occurrences.length === 0 ? (
              <Quiet>No occurrences are left.</Quiet>
            ) : (
              <OccurrenceTable occurrences={occurrences} timeZone={timeZone} />
            )}
          </Stack>
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Panel title={monitorIds.length === 1 ? '1 monitor' : `${monitorIds.length} monitors`}>
          <Monitors ids={monitorIds} />
        </Panel>
      </Grid.Col>
    </Grid>
  );
}

function Monitors({ ids }: { readonly ids: readonly string[] }): ReactNode {
  const { data = [] } = useQuery(monitorsQuery);
  const inWindow = new Set(ids);
  const monitors = sortMonitors(
    data.filter(({ id }) => inWindow.has(id)),
    new Set(),
  );
  return (
    <Stack gap={6}>
      {monitors.slice(0, MAX_MONITORS).map(({ id, name, status }) => (
        <Group key={id} justify="space-between" wrap="nowrap">
          <TextLink to="/monitors/$monitorId" params={{ monitorId: id }} size="sm" c="inherit" truncate>
            {name}
          </TextLink>
          <StatusBadge status={status} />
        </Group>
      ))}
      {ids.length > MAX_MONITORS && <Quiet>and {ids.length - MAX_MONITORS} more</Quiet>}
    </Stack>
  );
}

function EndNow({ window: { id, state, nextOccurrence } }: WindowProps): ReactNode {
  const [opened, { open, close }] = useDisclosure();
  const refresh = useRefresh();
  const end = async (): Promise<void> => {
    await api('POST /api/dashboard/maintenance-windows/:id/end', { id });
    await refresh(windowsQuery, windowQuery(id));
    notifications.show({
      message: 'Maintenance ended. Its monitors send alerts again within two seconds.',
    });
    close();
  };
  return (
    <>
      {state === 'running' && (
        <IconButton variant="filled" icon={IconPlayerStop} onClick={open} aria-haspopup="dialog">
          End now
        </IconButton>
      )}
      <ConfirmDialog
        opened={opened}
        title="End maintenance now"
        action="End now"
        cancel="Keep it running"
        color="cyan"
        onConfirm={end}
        onClose={close}
      >
        Monitors that are down send alerts at once.{' '}
        {nextOccurrence === null ? (
          'The window has no further occurrences.'
        ) : (
          <>
            The next occurrence starts on <Time value={nextOccurrence.startsAt} />, as planned.
          </>
        )}
      </ConfirmDialog>
    </>
  );
}
