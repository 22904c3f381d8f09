import { notifications } from '@mantine/notifications';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';
import { readerZone } from '../components/zoned-time.ts';
import { createWindow, useWindowChanged } from './queries.ts';
import { WindowForm } from './window-form.tsx';
import { newValues, toBody } from './window-values.ts';

const route = getRouteApi('/signed-in/maintenance/new');

export function NewMaintenanceWindowPage(): ReactNode {
  const { monitorId } = route.useSearch();
  const navigate = useNavigate();
  const changed = useWindowChanged();
  const [initialValues] = useState(() =>
    newValues(monitorId === undefined ? [] : [monitorId], readerZone(), Date.now()),
  );
  return (
    <>
      <PageHeader
        title="New maintenance window"
        hint="While it runs, checks of its monitors go on and nothing alerts."
      />
      <WindowForm
        initialValues={initialValues}
        windowId={null}
        action="Create window"
        save={async (values) => {
          const window = await createWindow(toBody(values));
          changed(window);
          notifications.show({ message: `${window.name} is planned.` });
          await navigate({ to: '/maintenance/$windowId', params: { windowId: window.id } });
        }}
        onCancel={() => void navigate({ to: '/maintenance' })}
      />
    </>
  );
}
