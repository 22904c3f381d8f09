import { Alert, Button, Group, Text } from '@mantine/core';
import { IconClockPause, IconFlame, IconNotebook } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { describeCause } from '../../components/describe-cause.ts';
import { TextLink } from '../../components/text-link.tsx';
import { Time } from '../../components/time.tsx';
import { maintenanceOf, silentUntil } from './maintenance-of.ts';
import { allWindowsQuery, monitorIncidentsQuery } from './queries.ts';

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
