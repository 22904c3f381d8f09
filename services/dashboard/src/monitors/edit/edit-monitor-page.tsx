import { Box } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { type ReactNode, useState } from 'react';
import { isStatus } from '../../api/request.ts';
import { FailureNotice, NotFoundPage, Placeholder, useFailure } from '../../components/load-states.tsx';
import { PageHeader } from '../../components/page.tsx';
import { ManagedAsCode } from '../../components/save-form.tsx';
import { DeleteMonitor } from '../delete-monitor.tsx';
import { monitorQuery } from '../queries.ts';
import { MonitorForm } from './monitor-form.tsx';

const route = getRouteApi('/signed-in/monitors/$monitorId/edit');

export function NewMonitorPage(): ReactNode {
  return (
    <>
      <PageHeader title="New monitor" hint="Only a name and a URL are required." />
      <MonitorForm monitor={null} />
    </>
  );
}

export function EditMonitorPage(): ReactNode {
  const { monitorId } = route.useParams();
  // The form starts with fresh data of the server, not with what another page has cached.
  const query = useQuery(monitorQuery(monitorId));
  const { data, error, isFetching } = query;
  const failure = useFailure(query);
  const [opened, setOpened] = useState<Monitor | null>(null);
  const isOpen = opened?.id === monitorId;
  if (!isOpen && data !== undefined && !isFetching && error === null) setOpened(data.monitor);
  if (isStatus(error, 404)) return <NotFoundPage />;
  if (isOpen) return <EditMonitor key={opened.id} monitor={opened} />;
  return (
    <>
      <PageHeader title="Edit monitor" hint="Loading" />
      <FailureNotice query={{ ...query, data: undefined }} />
      {failure === null && (
        <div role="status" aria-label="Loading the monitor" style={{ maxWidth: 760 }}>
          <Placeholder heights={[330, 240, 420]} />
        </div>
      )}
    </>
  );
}

function EditMonitor({ monitor }: { readonly monitor: Monitor }): ReactNode {
  return (
    <>
      <PageHeader title={`Edit ${monitor.name}`} actions={<DeleteMonitor monitor={monitor} />} />
      {monitor.source !== null && (
        <Box mb="md">
          <ManagedAsCode what="monitor" source={monitor.source} />
        </Box>
      )}
      <MonitorForm monitor={monitor} />
    </>
  );
}
