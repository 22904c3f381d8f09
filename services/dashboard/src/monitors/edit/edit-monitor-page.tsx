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

const newRoute = getRouteApi('/signed-in/editing/monitors/new');
const editRoute = getRouteApi('/signed-in/editing/monitors/$monitorId/edit');

export function NewMonitorPage(): ReactNode {
  const { from } = newRoute.useSearch();
  if (from !== undefined)
    return (
      <FreshMonitor key={from} monitorId={from} title="New monitor">
        {(original) => (
          <>
            <PageHeader title="New monitor" hint={`A copy of ${original.name}.`} />
            <MonitorForm monitor={null} original={original} />
          </>
        )}
      </FreshMonitor>
    );
  return (
    <>
      <PageHeader title="New monitor" hint="Only a name and a URL are required" />
      <MonitorForm key="blank" monitor={null} />
    </>
  );
}

export function EditMonitorPage(): ReactNode {
  const { monitorId } = editRoute.useParams();
  return (
    <FreshMonitor key={monitorId} monitorId={monitorId} title="Edit monitor">
      {(monitor) => <EditMonitor monitor={monitor} />}
    </FreshMonitor>
  );
}

interface FreshMonitorProps {
  readonly monitorId: string;
  /** Page title during loading. */
  readonly title: string;
  readonly children: (monitor: Monitor) => ReactNode;
}

/** Loads fresh data instead of cached data for a form, and does not change it afterwards. */
function FreshMonitor({ monitorId, title, children }: FreshMonitorProps): ReactNode {
  const query = useQuery(monitorQuery(monitorId));
  const { data, error, isFetching } = query;
  const failure = useFailure(query);
  const [opened, setOpened] = useState<Monitor | null>(null);
  if (opened === null && data !== undefined && !isFetching && error === null) setOpened(data.monitor);
  if (isStatus(error, 404)) return <NotFoundPage />;
  if (opened !== null) return children(opened);
  return (
    <>
      <PageHeader title={title} hint="Loading" />
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
