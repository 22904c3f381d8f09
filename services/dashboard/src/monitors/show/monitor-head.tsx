import { Button, Group, Stack, Text } from '@mantine/core';
import { IconCalendarPause, IconPencil, IconPlayerPlay } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../../app/page-states.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { DeleteMonitor } from '../edit/delete-monitor.tsx';
import { triggerMonitor } from '../queries.ts';
import { CheckResult } from './check-result.tsx';
import { ExternalLink } from './external-link.tsx';
import { StatusNotice } from './status-notice.tsx';

/** What the monitor is, how it is, and what can be done with it. */
export function MonitorHead({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const check = useMutation({ mutationFn: () => triggerMonitor(monitor.id) });
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
