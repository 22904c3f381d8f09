import { Alert, Group, Stack, Text } from '@mantine/core';
import {
  IconCalendarPause,
  IconClockPause,
  IconCopy,
  IconPencil,
  IconPlayerPause,
  IconPlayerPlay,
} from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { showError } from '../../api/mutations.ts';
import { api } from '../../api/request.ts';
import { windowsQuery } from '../../maintenance-windows/queries.ts';
import { IconButton, LinkButton } from '../../components/buttons.tsx';
import { ErrorNotice } from '../../components/load-states.tsx';
import { PageHeader } from '../../components/page.tsx';
import { ExternalLink, StatusAge, StatusBadge, Time, useNow } from '../../components/text.tsx';
import { LabelChips } from '../../labels/label-chips.tsx';
import { isStale, useSilentRegions } from '../../regions/regions.ts';
import { useCan, useDefaultRegion } from '../../session/session.ts';
import { DeleteMonitor } from '../delete-monitor.tsx';
import { regionsOf } from '../list/arrange-monitors.ts';
import { useMonitor } from '../list/list-hooks.ts';
import { monitorRegionsQuery, putInList } from '../queries.ts';
import { shownStatus } from '../shown-status.ts';
import { describeExpiry, maintenanceOf, silentUntil, soonestExpiry } from './figures.ts';
import { CheckFigures, PhaseList } from './phases.tsx';
import { Situation } from './situation/situation.tsx';
import { Warnings } from './situation/warnings.tsx';
import { EventError } from './tail/event-table.tsx';
import { KeptResponse } from './tail/kept-response.tsx';

interface MonitorProps {
  readonly monitor: Monitor;
}

export function MonitorHead({ monitor }: MonitorProps): ReactNode {
  const { id, name, status } = monitor;
  const can = useCan();
  const { data, error, isPending, mutate, reset } = useMutation({
    mutationFn: () => api('POST /api/dashboard/monitors/:id/trigger', { id }),
  });
  return (
    <Stack gap="md">
      <PageHeader
        title={name}
        hint={<Facts monitor={monitor} />}
        actions={
          can.change && (
            <>
              <IconButton variant="filled" icon={IconPlayerPlay} onClick={() => mutate()} loading={isPending}>
                Check now
              </IconButton>
              <PauseButton monitor={monitor} />
              <LinkButton icon={IconPencil} to="/monitors/$monitorId/edit" params={{ monitorId: id }}>
                Edit
              </LinkButton>
              <LinkButton icon={IconCopy} to="/monitors/new" search={{ from: id }}>
                Clone
              </LinkButton>
              <LinkButton icon={IconCalendarPause} to="/maintenance/new" search={{ monitorId: id }}>
                Maintenance
              </LinkButton>
              <DeleteMonitor monitor={monitor} />
            </>
          )
        }
      />
      {data && <CheckResult event={data.event} onClose={reset} />}
      {error && <ErrorNotice error={error} retry={() => mutate()} />}
      {!monitor.enabled && <PausedNotice />}
      {monitor.enabled && status === 'DOWN' && <Situation monitor={monitor} />}
      {monitor.enabled && status === 'MAINTENANCE' && <MaintenanceNotice monitor={monitor} />}
      <Warnings monitor={monitor} />
    </Stack>
  );
}

function Facts({ monitor }: MonitorProps): ReactNode {
  const { id, enabled, statusSince, lastCheckedAt, url, runbookUrl, labels } = monitor;
  const status = shownStatus(monitor);
  const silent = useSilentRegions();
  const now = useNow(silent.length > 0);
  const regions = regionsOf(monitor, useDefaultRegion());
  const stale = enabled && isStale(monitor, regions, silent, now);
  const isFailing = useMonitor(id)?.failing === true && status === 'MAINTENANCE';
  return (
    <Stack gap={4} mt={6}>
      <Group gap="xs">
        <StatusBadge status={status} isFailing={isFailing} isStale={stale} />
        {stale ? (
          <span>
            <StatusAge monitor={monitor} isStale />
          </span>
        ) : isFailing ? (
          <span>
            in maintenance since <Time value={statusSince} />
          </span>
        ) : (
          enabled && (
            <>
              <span>
                for <Time value={statusSince} as="for" />
              </span>
              <span>
                since <Time value={statusSince} />
              </span>
            </>
          )
        )}
      </Group>
      <ExternalLink href={url}>{url}</ExternalLink>
      {Object.keys(labels).length > 0 && <LabelChips labels={labels} />}
      <Group gap="md">
        <Text span size="sm">
          {lastCheckedAt === null ? (
            'Not checked yet'
          ) : (
            <>
              Last checked <Time value={lastCheckedAt} as="ago" />
            </>
          )}
        </Text>
        {/^https:/i.test(url) && <Certificate monitorId={id} />}
        {runbookUrl !== null && status !== 'DOWN' && <ExternalLink href={runbookUrl}>Runbook</ExternalLink>}
      </Group>
    </Stack>
  );
}

const EXPIRY_COLORS = {
  fine: 'inherit',
  soon: 'var(--warning)',
  critical: 'var(--status-down)',
  expired: 'var(--status-down)',
};

/** The expiry of the certificate. Renders nothing until it is known. */
function Certificate({ monitorId }: { readonly monitorId: string }): ReactNode {
  const { data: regions = [] } = useQuery(monitorRegionsQuery(monitorId));
  const expiry = soonestExpiry(regions, useNow());
  if (expiry === null) return null;
  return (
    <Text span size="sm" c={EXPIRY_COLORS[expiry.state]}>
      Certificate: {describeExpiry(expiry)} (<Time value={expiry.expiresAt} />)
    </Text>
  );
}

/** The result of "Check now". */
function CheckResult({ event, onClose }: { event: Event; onClose: () => void }): ReactNode {
  const { timestamp, status, region, timings, inconclusive } = event;
  return (
    <Alert
      color={inconclusive ? 'gray' : status === 'UP' ? 'green' : 'red'}
      title={
        <>
          Checked <Time value={timestamp} as="ago" /> from {region}
        </>
      }
      withCloseButton
      closeButtonLabel="Close the result"
      onClose={onClose}
    >
      <Stack gap={6}>
        <CheckFigures check={event} />
        <EventError event={event} />
        {event.hasResponse && <KeptResponse event={event} />}
        <PhaseList timings={timings} />
      </Stack>
    </Alert>
  );
}

function PauseButton({ monitor: { id, enabled } }: MonitorProps): ReactNode {
  const queryClient = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: () => api('PUT /api/dashboard/monitors/:id', { id, body: { enabled: !enabled } }),
    onSuccess: ({ monitor }) => {
      putInList(queryClient, monitor);
      void queryClient.invalidateQueries({ queryKey: ['monitor', id] });
    },
    onError: showError,
  });
  return (
    <IconButton
      icon={enabled ? IconPlayerPause : IconPlayerPlay}
      onClick={() => mutate()}
      loading={isPending}
    >
      {enabled ? 'Pause' : 'Resume'}
    </IconButton>
  );
}

function PausedNotice(): ReactNode {
  return (
    <Alert color="gray" icon={<IconPlayerPause aria-hidden />} title="Paused">
      <Text size="sm">
        No checks run and no alerts are sent. The status and an open incident stay as they were. The pause
        does not count in availability. “Check now” still runs a check, which changes nothing else.
      </Text>
    </Alert>
  );
}

function MaintenanceNotice({ monitor }: MonitorProps): ReactNode {
  const { data: windows = [] } = useQuery(windowsQuery);
  const until = silentUntil(maintenanceOf(monitor, windows));
  const isFailing = useMonitor(monitor.id)?.failing === true;
  return (
    <Alert color="violet" icon={<IconClockPause aria-hidden />} title="In maintenance">
      <Text size="sm">
        Checks continue and are recorded. No alerts are sent until{' '}
        {until === null ? 'the maintenance ends' : <Time value={until} />}.
        {isFailing && ' If its checks still fail then, an alert is sent.'}
      </Text>
    </Alert>
  );
}
