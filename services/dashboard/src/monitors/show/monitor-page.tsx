import { Grid, Stack } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { type ReactNode, useEffect, useRef } from 'react';
import { isStatus } from '../../api/request.ts';
import { Loaded, NotFoundPage, Placeholder } from '../../components/load-states.tsx';
import { useNow } from '../../components/text.tsx';
import { Reloader } from '../../live/reloader.ts';
import { eventTailQuery, monitorQuery } from '../queries.ts';
import { ConfigurationPanel } from './configuration-panel.tsx';
import { HistoryPanel, type OnPeriod } from './history/history-panel.tsx';
import { choosePeriod } from './history/period.ts';
import { MonitorHead } from './monitor-head.tsx';
import { RegionsPanel } from './regions-panel.tsx';
import { ChannelsPanel, IncidentsPanel, MaintenancePanel } from './side-panels.tsx';
import { TailPanel } from './tail/tail-panel.tsx';

const route = getRouteApi('/signed-in/monitors/$monitorId');

/** Limits the reloads of figures when checks are frequent. */
const RELOAD_AFTER_MS = 2_000;

export function MonitorPage(): ReactNode {
  const { monitorId } = route.useParams();
  const query = useQuery(monitorQuery(monitorId));
  if (isStatus(query.error, 404)) return <NotFoundPage />;
  return (
    <>
      <ReloadOnChecks monitorId={monitorId} />
      <Loaded query={query} pending={<MonitorSkeleton />}>
        {({ monitor }) => <MonitorPanels key={monitorId} monitor={monitor} />}
      </Loaded>
    </>
  );
}

/**
 * Reloads the figures after each check. A status change does so, too (live/apply-to-cache.ts). It is a separate component, so that a check
 * does not render the page.
 */
function ReloadOnChecks({ monitorId }: { readonly monitorId: string }): ReactNode {
  const queryClient = useQueryClient();
  const latest = useQuery(eventTailQuery(monitorId)).data?.[0]?.id;
  const reloader = useRef<Reloader | null>(null);
  useEffect(() => {
    const own = new Reloader(queryClient);
    reloader.current = own;
    return () => own.stop();
  }, [queryClient]);
  const known = useRef<string | undefined>(undefined);
  useEffect(() => {
    // The figures already include the first event.
    if (known.current !== undefined)
      for (const part of ['history', 'regions'])
        reloader.current?.reloadAfter(RELOAD_AFTER_MS, ['monitor', monitorId, part]);
    known.current = latest;
  }, [monitorId, latest]);
  return null;
}

function MonitorPanels({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { id, createdAt } = monitor;
  // The choice of a window does not need the exact time.
  const period = choosePeriod(search, useNow() - Date.parse(createdAt));
  const showPeriod: OnPeriod = (change) => {
    const none = { from: undefined, to: undefined };
    const next = change === null ? none : 'window' in change ? { ...none, range: change.window } : change;
    void navigate({ search: (before) => ({ ...before, ...next }), resetScroll: false });
  };
  useHotkeys([
    [
      'Escape',
      () => {
        if (!('window' in period) && document.querySelector('[role="dialog"]') === null) showPeriod(null);
      },
    ],
  ]);
  return (
    <Stack gap="md">
      <MonitorHead monitor={monitor} />
      <HistoryPanel monitor={monitor} period={period} onPeriod={showPeriod} />
      <RegionsPanel monitor={monitor} period={period} />
      <Grid>
        <Grid.Col span={{ base: 12, md: 8 }}>
          <TailPanel monitorId={id} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 4 }}>
          <Stack gap="md">
            <IncidentsPanel monitorId={id} />
            <ChannelsPanel monitor={monitor} />
            <MaintenancePanel monitor={monitor} />
          </Stack>
        </Grid.Col>
      </Grid>
      <ConfigurationPanel monitor={monitor} />
    </Stack>
  );
}

function MonitorSkeleton(): ReactNode {
  return (
    <div role="status" aria-label="Loading the monitor">
      <Placeholder heights={[96, 460, 160]} />
    </div>
  );
}
