import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import {
  IconCalendarPause,
  IconClockPause,
  IconFlame,
  IconNotebook,
  IconPencil,
  IconPlayerPlay,
} from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { StatusBadge } from '../../components/badges.tsx';
import { describeCause, formatLatency } from '../../components/format.ts';
import { ExternalLink, TextLink } from '../../components/links.tsx';
import { api } from '../../api/request.ts';
import { ErrorNotice } from '../../components/load-states.tsx';
import { PageHeader } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { DeleteMonitor } from '../delete-monitor.tsx';
import { allWindowsQuery, monitorIncidentsQuery } from '../queries.ts';
import { maintenanceOf, silentUntil } from './figures.ts';
import { PhaseList } from './phases.tsx';

/** What the monitor is, how it is, and what can be done with it. */
export function MonitorHead({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const check = useMutation({
    mutationFn: async () => (await api('POST /api/dashboard/monitors/:id/trigger', { id: monitor.id })).event,
  });
  return (
    <Stack gap="md">
      <PageHeader
        title={monitor.name}
        hint={<Facts monitor={monitor} />}
        actions={
          <>
            <Button
              leftSection={<IconPlayerPlay size={16} aria-hidden />}
              onClick={() => check.mutate()}
              loading={check.isPending}
            >
              Check now
            </Button>
            <Button
              variant="default"
              leftSection={<IconPencil size={16} aria-hidden />}
              renderRoot={(props) => (
                <Link {...props} to="/monitors/$monitorId/edit" params={{ monitorId: monitor.id }} />
              )}
            >
              Edit
            </Button>
            <Button
              variant="default"
              leftSection={<IconCalendarPause size={16} aria-hidden />}
              renderRoot={(props) => (
                <Link {...props} to="/maintenance/new" search={{ monitorId: monitor.id }} />
              )}
            >
              Maintenance
            </Button>
            <DeleteMonitor monitor={monitor} />
          </>
        }
      />
      {check.data && <CheckResult event={check.data} onClose={() => check.reset()} />}
      {check.error && <ErrorNotice error={check.error} retry={() => check.mutate()} />}
      <StatusNotice monitor={monitor} />
    </Stack>
  );
}

function Facts({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const { status, statusSince, lastCheckedAt, url, runbookUrl } = monitor;
  return (
    <Stack gap={4} mt={6}>
      <Group gap="xs">
        <StatusBadge status={status} />
        <span>
          for <Time value={statusSince} as="for" />
        </span>
        <span>
          since <Time value={statusSince} />
        </span>
      </Group>
      <ExternalLink href={url}>{url}</ExternalLink>
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
        {runbookUrl !== null && status !== 'DOWN' && <ExternalLink href={runbookUrl}>Runbook</ExternalLink>}
      </Group>
    </Stack>
  );
}

/** What somebody must know first where the monitor is down or in maintenance; nothing where all is well. */
export function StatusNotice({ monitor }: { readonly monitor: Monitor }): ReactNode {
  if (monitor.status === 'DOWN') return <DownNotice monitor={monitor} />;
  if (monitor.status === 'MAINTENANCE') return <MaintenanceNotice monitorId={monitor.id} />;
  return null;
}

function DownNotice({ monitor: { id, runbookUrl } }: { readonly monitor: Monitor }): ReactNode {
  const { data: incidents } = useQuery(monitorIncidentsQuery(id));
  const open = incidents?.find(({ resolvedAt }) => resolvedAt === null);
  return (
    <Alert color="red" variant="light" icon={<IconFlame aria-hidden />} title="This monitor is down">
      <Group justify="space-between" gap="md">
        <Text size="sm">
          {open ? (
            <>
              {describeCause(open.cause)}, seen from {open.region}, since <Time value={open.openedAt} />.
            </>
          ) : (
            'The latest events below say what its checks saw.'
          )}
        </Text>
        {runbookUrl === null ? (
          <Text size="sm">
            No runbook.{' '}
            <TextLink to="/monitors/$monitorId/edit" params={{ monitorId: id }} size="sm">
              Add its link
            </TextLink>{' '}
            for the next time.
          </Text>
        ) : (
          <Button
            component="a"
            href={runbookUrl}
            target="_blank"
            rel="noreferrer"
            color="red"
            leftSection={<IconNotebook size={18} aria-hidden />}
          >
            Open the runbook
          </Button>
        )}
      </Group>
    </Alert>
  );
}

function MaintenanceNotice({ monitorId }: { readonly monitorId: string }): ReactNode {
  const { data: windows } = useQuery(allWindowsQuery);
  const until = silentUntil(maintenanceOf(monitorId, windows ?? []));
  return (
    <Alert color="violet" variant="light" icon={<IconClockPause aria-hidden />} title="In maintenance">
      <Text size="sm">
        Checks go on and are recorded; nothing alerts until{' '}
        {until === null ? 'the maintenance is over' : <Time value={until} />}.
      </Text>
    </Alert>
  );
}

interface CheckResultProps {
  readonly event: Event;
  readonly onClose: () => void;
}

/** What "Check now" came to. */
export function CheckResult({ event, onClose }: CheckResultProps): ReactNode {
  const { timestamp, status, statusCode, latency, region, errorReason, errorDetail, timings } = event;
  return (
    <Alert
      color={status === 'UP' ? 'green' : 'red'}
      variant="light"
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
        <Group gap="md">
          <StatusBadge status={status} />
          {statusCode !== null && <Text size="sm">HTTP {statusCode}</Text>}
          {latency > 0 && (
            <Text size="sm" className="tabular">
              {formatLatency(latency)}
            </Text>
          )}
          {errorReason !== null && (
            <Text size="sm" component="span">
              <b>{describeCause(errorReason)}</b> <code>{errorReason}</code>
            </Text>
          )}
        </Group>
        {errorDetail !== null && (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {errorDetail}
          </Text>
        )}
        <PhaseList timings={timings} />
      </Stack>
    </Alert>
  );
}
