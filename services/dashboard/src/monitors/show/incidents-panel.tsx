import { Group, Skeleton, Text } from '@mantine/core';
import { IconCircleCheck, IconFlame } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { ReactNode } from 'react';
import { describeCause } from '../../components/describe-cause.ts';
import { formatSpan } from '../../components/format-time.ts';
import { Loaded } from '../../components/loaded.tsx';
import { Panel } from '../../components/panel.tsx';
import { TextLink } from '../../components/text-link.tsx';
import { Time, useNow } from '../../components/time.tsx';
import { monitorIncidentsQuery, MOST_INCIDENTS } from './queries.ts';
import classes from './show.module.css';

/** When the monitor was down, latest first. */
export function IncidentsPanel({ monitorId }: { readonly monitorId: string }): ReactNode {
  const query = useQuery(monitorIncidentsQuery(monitorId));
  return (
    <Panel title="Incidents">
      <Loaded query={query} pending={<Skeleton height={56} />}>
        {(incidents) =>
          incidents.length === 0 ? (
            <Text size="sm" c="var(--text-quiet)">
              None: it has not been down.
            </Text>
          ) : (
            <ul className={classes['list']}>
              {incidents.map((incident) => (
                <IncidentItem key={incident.id} incident={incident} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {query.data?.length === MOST_INCIDENTS && (
        <TextLink to="/incidents" search={{ monitorId }} size="sm">
          All incidents
        </TextLink>
      )}
    </Panel>
  );
}

function IncidentItem({ incident }: { readonly incident: Incident }): ReactNode {
  const { openedAt, resolvedAt, durationSeconds, cause, region } = incident;
  const open = resolvedAt === null;
  const now = useNow(open);
  const seconds = open ? (now - Date.parse(openedAt)) / 1_000 : durationSeconds;
  return (
    <li>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Group gap={6} wrap="nowrap" className={classes[open ? 'bad' : 'quiet'] ?? ''}>
          {open ? <IconFlame size={16} aria-hidden /> : <IconCircleCheck size={16} aria-hidden />}
          <Text span size="sm" fw={600}>
            {open ? 'Open' : 'Resolved'}
          </Text>
        </Group>
        <Text span size="sm" className="tabular">
          {formatSpan(seconds)}
        </Text>
      </Group>
      <Text size="sm">
        {describeCause(cause)}, from {region}
      </Text>
      <Text size="xs" c="var(--text-quiet)">
        <Time value={openedAt} />
        {resolvedAt !== null && (
          <>
            {' '}
            to <Time value={resolvedAt} />
          </>
        )}
      </Text>
    </li>
  );
}
