import { Group, Skeleton, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { isStatus } from '../api/api-error.ts';
import { NotFoundPage } from '../app/page-states.tsx';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { Time } from '../components/time.tsx';
import { updateWindow, useWindowChanged, windowQuery } from './queries.ts';
import { WindowActions } from './window-actions.tsx';
import { WindowDetails } from './window-details.tsx';
import { WindowForm } from './window-form.tsx';
import { WindowStateBadge } from './window-state-badge.tsx';
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
