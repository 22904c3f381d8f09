import { Alert, Skeleton, Stack } from '@mantine/core';
import { IconCode } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { type ReactNode, useState } from 'react';
import { isWorthRetrying } from '../../api/query-client.ts';
import { isStatus } from '../../api/request.ts';
import { ErrorNotice, NotFoundPage, useFailure } from '../../components/load-states.tsx';
import { PageHeader } from '../../components/page.tsx';
import { DeleteMonitor } from '../delete-monitor.tsx';
import { monitorQuery } from '../queries.ts';
import { MonitorForm } from './monitor-form.tsx';

export function NewMonitorPage(): ReactNode {
  return (
    <>
      <PageHeader title="New monitor" hint="A name and a URL are enough." />
      <MonitorForm monitor={null} />
    </>
  );
}

const route = getRouteApi('/signed-in/monitors/$monitorId/edit');

export function EditMonitorPage(): ReactNode {
  const { monitorId } = route.useParams();
  // What the form begins with is what the server has now, not what some page had before.
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
      {failure === null ? (
        <Stack maw={760} role="status" aria-label="Loading the monitor">
          <Skeleton height={330} />
          <Skeleton height={240} />
          <Skeleton height={420} />
        </Stack>
      ) : (
        <ErrorNotice
          error={failure}
          retry={() => void query.refetch()}
          retriesByItself={isWorthRetrying(failure)}
        />
      )}
    </>
  );
}

function EditMonitor({ monitor }: { readonly monitor: Monitor }): ReactNode {
  return (
    <>
      <PageHeader title={`Edit ${monitor.name}`} actions={<DeleteMonitor monitor={monitor} />} />
      {monitor.source !== null && (
        <Alert variant="light" icon={<IconCode aria-hidden />} title="Managed as code" maw={760} mb="md">
          It belongs to the set “{monitor.source}”: the next sync of its files overwrites what you change
          here.
        </Alert>
      )}
      <MonitorForm monitor={monitor} />
    </>
  );
}
