import { Button, Group, Stack, Text } from '@mantine/core';
import type { Monitor } from '@tocsin/contracts/monitor';
import { IconCalendarPause, IconPencil, IconPlayerPlay, IconTrash } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { ErrorNotice } from '../../app/page-states.tsx';
import { formatSpan } from '../../components/format-time.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time, useNow } from '../../components/time.tsx';
import { triggerMonitor } from '../queries.ts';
import { CheckResult } from './check-result.tsx';
import { DeleteMonitor } from './delete-monitor.tsx';
import { ExternalLink } from './external-link.tsx';
import { StatusNotice } from './status-notice.tsx';

/** What the monitor is, how it is, and what can be done with it. */
export function MonitorHead({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const [deleting, setDeleting] = useState(false);
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
            <Button
              variant="default"
              leftSection={<IconTrash size={16} aria-hidden />}
              onClick={() => setDeleting(true)}
            >
              Delete
            </Button>
          </>
        }
      />
      {check.data && <CheckResult event={check.data} onClose={() => check.reset()} />}
      {check.error && <ErrorNotice error={check.error} retry={() => check.mutate()} />}
      <StatusNotice monitor={monitor} />
      <DeleteMonitor monitor={monitor} opened={deleting} onClose={() => setDeleting(false)} />
    </Stack>
  );
}

function Facts({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const { status, statusSince, lastCheckedAt, url, runbookUrl } = monitor;
  const now = useNow();
  return (
    <Stack gap={4} mt={6}>
      <Group gap="xs">
        <StatusBadge status={status} />
        <span className="tabular">for {formatSpan((now - Date.parse(statusSince)) / 1_000)}</span>
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
