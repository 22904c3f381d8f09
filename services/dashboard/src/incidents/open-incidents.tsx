import { Group, Skeleton, Stack, Text } from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import type { Incident } from '@tocsin/contracts/incident';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { formatSpan } from '../components/format-time.ts';
import { Loaded } from '../components/loaded.tsx';
import { Panel } from '../components/panel.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { TextLink } from '../components/text-link.tsx';
import { Time, useNow } from '../components/time.tsx';
import { describeCause } from '../components/describe-cause.ts';
import classes from './incidents.module.css';
import { MOST_OPEN, openIncidentsQuery } from './queries.ts';

/** What is down now. @param monitorId null: of all monitors */
export function OpenIncidents({ monitorId }: { readonly monitorId: string | null }): ReactNode {
  const query = useQuery(openIncidentsQuery);
  const ofMonitor = (incidents: readonly Incident[]): readonly Incident[] =>
    incidents.filter((incident) => monitorId === null || incident.monitorId === monitorId);
  const count = ofMonitor(query.data ?? []).length;
  return (
    <Panel title={count > 0 ? `Open: ${count}` : 'Open'}>
      <Loaded query={query} pending={<Skeleton height={44} />}>
        {(incidents) => (
          <>
            <List incidents={ofMonitor(incidents)} />
            {incidents.length >= MOST_OPEN && (
              <Text size="sm" c="var(--text-quiet)" mt="sm">
                These are the latest {MOST_OPEN}; there may be more.
              </Text>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function List({ incidents }: { readonly incidents: readonly Incident[] }): ReactNode {
  if (incidents.length === 0)
    return (
      <Group gap={8} py={6}>
        <IconCircleCheck size={20} color="var(--status-up)" aria-hidden />
        <Text size="sm">Nothing is wrong.</Text>
      </Group>
    );
  return (
    <Stack gap={0} component="ul" className={classes['list'] ?? ''}>
      {incidents.map((incident) => (
        <Row key={incident.id} incident={incident} />
      ))}
    </Stack>
  );
}

function Row({ incident }: { readonly incident: Incident }): ReactNode {
  const now = useNow();
  const seconds = Math.max(incident.durationSeconds, (now - Date.parse(incident.openedAt)) / 1_000);
  return (
    <li className={classes['row']}>
      <StatusBadge status="DOWN" />
      <div className={classes['what']}>
        <TextLink to="/monitors/$monitorId" params={{ monitorId: incident.monitorId }} fw={600}>
          {incident.monitorName}
        </TextLink>
        <Text size="sm" c="var(--text-quiet)">
          {describeCause(incident.cause)} · {incident.region}
        </Text>
      </div>
      <div className={classes['when']}>
        <Text size="sm" fw={600} className="tabular">
          for {formatSpan(seconds)}
        </Text>
        <Text size="xs" c="var(--text-quiet)">
          since <Time value={incident.openedAt} />
        </Text>
      </div>
    </li>
  );
}
