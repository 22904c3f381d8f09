import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { StatsWindow } from '@tocsin/contracts/monitors/stats';
import { type ReactNode, useState } from 'react';
import { isStatus } from '../../api/request.ts';
import { Loaded, NotFoundPage, Placeholder } from '../../components/load-states.tsx';
import { monitorQuery } from '../queries.ts';
import { LatencyPanel } from './chart/latency-panel.tsx';
import { ConfigurationPanel } from './configuration-panel.tsx';
import { MonitorHead } from './monitor-head.tsx';
import { RegionsPanel } from './regions-panel.tsx';
import classes from './show.module.css';
import { ChannelsPanel, IncidentsPanel, MaintenancePanel } from './side-panels.tsx';
import { TailPanel } from './tail/tail-panel.tsx';
import { UptimePanel } from './uptime-panel.tsx';

const route = getRouteApi('/signed-in/monitors/$monitorId');

export function MonitorPage(): ReactNode {
  const { monitorId } = route.useParams();
  const query = useQuery(monitorQuery(monitorId));
  if (isStatus(query.error, 404)) return <NotFoundPage />;
  return (
    <Loaded query={query} pending={<MonitorSkeleton />}>
      {({ monitor }) => <MonitorPanels key={monitorId} monitor={monitor} />}
    </Loaded>
  );
}

function MonitorPanels({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const [window, setWindow] = useState<StatsWindow>('24h');
  const { id } = monitor;
  return (
    <Stack gap="md">
      <MonitorHead monitor={monitor} />
      <UptimePanel monitor={monitor} />
      <LatencyPanel monitorId={id} window={window} onWindow={setWindow} />
      <RegionsPanel monitor={monitor} window={window} />
      <div className={classes['columns']}>
        <TailPanel monitorId={id} />
        <Stack gap="md">
          <IncidentsPanel monitorId={id} />
          <ChannelsPanel monitor={monitor} />
          <MaintenancePanel monitor={monitor} />
        </Stack>
      </div>
      <ConfigurationPanel monitor={monitor} />
    </Stack>
  );
}

/** As tall as the panels. */
function MonitorSkeleton(): ReactNode {
  return (
    <div role="status" aria-label="Loading the monitor">
      <Placeholder heights={[96, 120, 372, 160]} />
    </div>
  );
}
