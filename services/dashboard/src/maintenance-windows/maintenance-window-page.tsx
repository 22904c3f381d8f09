import { Button, Code, Grid, Group, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconPencil, IconPlayerStop } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { type ReactNode, useState } from 'react';
import { isStatus } from '../api/api-error.ts';
import { ErrorNotice, NotFoundPage } from '../app/page-states.tsx';
import { DeleteButton } from '../components/confirm-dialog.tsx';
import { sortMonitors } from '../components/filter-monitors.ts';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { TextLink } from '../components/text-link.tsx';
import { Time } from '../components/time.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { WindowStateBadge } from './maintenance-windows-page.tsx';
import { OccurrenceTable, ScheduleSentence } from './occurrence-table.tsx';
import {
  deleteWindow,
  endMaintenance,
  updateWindow,
  useWindowChanged,
  windowQuery,
  windowsQuery,
} from './queries.ts';
import { WindowForm } from './window-form.tsx';
import { toUpdate, valuesOf } from './window-values.ts';

const route = getRouteApi('/signed-in/maintenance/$windowId');

export function MaintenanceWindowPage(): ReactNode {
  const { windowId } = route.useParams();
  const query = useQuery(windowQuery(windowId));
  if (isStatus(query.error, 404)) return <NotFoundPage />;
  return (
    <Loaded query={query} pending={<Placeholder />}>
      {(window) => <Content key={window.id} window={window} />}
    </Loaded>
  );
}

function Placeholder(): ReactNode {
  return (
    <>
      <Skeleton height={34} width={280} mb={8} />
      <Skeleton height={20} width={180} mb="md" />
      <Panel>
        <Skeleton height={220} />
      </Panel>
    </>
  );
}

function Content({ window }: { readonly window: MaintenanceWindow }): ReactNode {
  const [editing, setEditing] = useState(false);
  return (
    <>
      <PageHeader
        title={window.name}
        hint={
          <Group gap="sm">
            <WindowStateBadge state={window.state} />
            <StateText window={window} />
          </Group>
        }
        actions={!editing && <WindowActions window={window} onEdit={() => setEditing(true)} />}
      />
      <Stack>
        {editing ? (
          <EditForm window={window} onDone={() => setEditing(false)} />
        ) : (
          <WindowDetails window={window} />
        )}
      </Stack>
    </>
  );
}

function EditForm({
  window,
  onDone,
}: {
  readonly window: MaintenanceWindow;
  readonly onDone: () => void;
}): ReactNode {
  const changed = useWindowChanged();
  // What was there when editing began: only what a person changed is sent.
  const [before] = useState(() => valuesOf(window));
  return (
    <WindowForm
      initialValues={before}
      windowId={window.id}
      action="Save"
      save={async (values) => {
        changed(await updateWindow(window.id, toUpdate(before, values)));
        notifications.show({ message: 'The window is saved.' });
        onDone();
      }}
      onCancel={onDone}
    />
  );
}

function StateText({ window }: { readonly window: MaintenanceWindow }): ReactNode {
  const { currentOccurrence, nextOccurrence } = window;
  if (currentOccurrence !== null)
    return (
      <Text component="span" size="sm">
        ends <Time value={currentOccurrence.endsAt} as="ago" />
      </Text>
    );
  if (nextOccurrence === null) return null;
  return (
    <Text component="span" size="sm">
      begins <Time value={nextOccurrence.startsAt} as="ago" />
    </Text>
  );
}

const MOST_MONITORS = 50;

/** A window as the server has it: its plan, its next times, its monitors. */
export function WindowDetails({ window }: { readonly window: MaintenanceWindow }): ReactNode {
  const { rrule, timeZone, upcoming, currentOccurrence } = window;
  const times = currentOccurrence === null ? upcoming : [currentOccurrence, ...upcoming];
  return (
    <Grid>
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Panel title="Plan">
          <Stack gap="sm">
            <Text size="sm">
              <ScheduleSentence schedule={window} />
            </Text>
            {rrule !== null && (
              <Group gap="xs">
                <Text size="xs" c="var(--text-quiet)">
                  Rule
                </Text>
                <Code style={{ overflowWrap: 'anywhere' }}>{rrule}</Code>
              </Group>
            )}
            {times.length === 0 ? (
              <Text size="sm" c="var(--text-quiet)">
                Nothing is left of it.
              </Text>
            ) : (
              <OccurrenceTable occurrences={times} timeZone={timeZone} />
            )}
          </Stack>
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Monitors window={window} />
      </Grid.Col>
    </Grid>
  );
}

function Monitors({ window: { monitorIds } }: { readonly window: MaintenanceWindow }): ReactNode {
  const { data } = useQuery(monitorsQuery);
  const ids = new Set(monitorIds);
  const monitors = sortMonitors(
    (data ?? []).filter(({ id }) => ids.has(id)),
    new Set(),
  );
  return (
    <Panel title={monitorIds.length === 1 ? 'Silences 1 monitor' : `Silences ${monitorIds.length} monitors`}>
      <Stack gap={6}>
        {monitors.slice(0, MOST_MONITORS).map(({ id, name, status }) => (
          <Group key={id} justify="space-between" wrap="nowrap">
            <TextLink to="/monitors/$monitorId" params={{ monitorId: id }} size="sm" c="inherit" truncate>
              {name}
            </TextLink>
            <StatusBadge status={status} />
          </Group>
        ))}
        {monitorIds.length > MOST_MONITORS && (
          <Text size="sm" c="var(--text-quiet)">
            and {monitorIds.length - MOST_MONITORS} more
          </Text>
        )}
      </Stack>
    </Panel>
  );
}

interface WindowActionsProps {
  readonly window: MaintenanceWindow;
  readonly onEdit: () => void;
}

export function WindowActions({ window, onEdit }: WindowActionsProps): ReactNode {
  const [ending, { open, close }] = useDisclosure();
  return (
    <>
      {window.state === 'running' && (
        <Button leftSection={<IconPlayerStop size={16} aria-hidden />} onClick={open} aria-haspopup="dialog">
          End now
        </Button>
      )}
      <Button variant="default" leftSection={<IconPencil size={16} aria-hidden />} onClick={onEdit}>
        Edit
      </Button>
      <DeleteWindow window={window} />
      <EndNowModal window={window} opened={ending} onClose={close} />
    </>
  );
}

function DeleteWindow({ window: { id, name, state } }: { readonly window: MaintenanceWindow }): ReactNode {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return (
    <DeleteButton
      name={name}
      title="Delete this maintenance window"
      remove={() => deleteWindow(id)}
      onDeleted={async () => {
        await navigate({ to: '/maintenance', ignoreBlocker: true });
        queryClient.removeQueries({ queryKey: windowQuery(id).queryKey });
        void queryClient.invalidateQueries({ queryKey: windowsQuery.queryKey });
      }}
    >
      {state === 'running'
        ? 'It ends at once, and does not come again. Monitors that are down then alert.'
        : 'It does not come again.'}
    </DeleteButton>
  );
}

interface EndNowModalProps {
  readonly window: MaintenanceWindow;
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** Asks before what runs is ended. */
export function EndNowModal({ window, opened, onClose }: EndNowModalProps): ReactNode {
  const changed = useWindowChanged();
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => endMaintenance(window.id),
    onSuccess: (after) => {
      changed(after);
      notifications.show({
        message: 'The maintenance is over. Its monitors alert again within two seconds.',
      });
      onClose();
    },
  });
  const { nextOccurrence } = window;
  return (
    <Modal opened={opened} onClose={onClose} title="End the maintenance now">
      <Stack>
        <Text size="sm">
          Monitors that are down then alert at once.{' '}
          {nextOccurrence === null ? (
            'The window does not come again.'
          ) : (
            <>
              The next one begins on <Time value={nextOccurrence.startsAt} />, as planned.
            </>
          )}
        </Text>
        {error !== null && <ErrorNotice error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Let it run
          </Button>
          <Button loading={isPending} onClick={() => mutate()}>
            End now
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
