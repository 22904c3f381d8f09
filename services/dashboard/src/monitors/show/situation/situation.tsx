import { Button, Group, Paper, Text, Title } from '@mantine/core';
import { IconFlame, IconNotebook } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { describeCause } from '../../../components/format.ts';
import { Facts } from '../../../components/facts.tsx';
import { Quiet, TextLink, Time } from '../../../components/text.tsx';
import { Acknowledged } from '../../../incidents/acknowledgement.tsx';
import { isolatedRegions, regionsQuery, useUnservedRegions } from '../../../regions/regions.ts';
import { eventTailQuery, monitorIncidentsQuery, monitorRegionsQuery } from '../../queries.ts';
import { PhaseList } from '../phases.tsx';
import { KeptResponse } from '../tail/kept-response.tsx';
import { Changes, Notified } from './notified.tsx';
import { groupRegions, latestFailures } from './situation-text.ts';
import classes from './situation.module.css';
import { useCan } from '../../../session/session.ts';

interface MonitorProps {
  readonly monitor: Monitor;
}

/** Summarizes an outage: cause, start, regions, response, notified channels and recent changes. */
export function Situation({ monitor }: MonitorProps): ReactNode {
  const { id, statusSince, errorDetail } = monitor;
  const { data: incidents } = useQuery(monitorIncidentsQuery(id));
  const incident = incidents && (incidents.find(({ resolvedAt }) => resolvedAt === null) ?? null);
  const since = incident?.openedAt ?? statusSince;
  const answers = {
    Since: (
      <>
        <Time value={since} /> (<Time value={since} as="for" />)
        {incident && <IncidentState incident={incident} />}
      </>
    ),
    Where: <Regions monitorId={id} />,
    Response: <LatestResponse monitorId={id} />,
    Notified: <Notified monitor={monitor} incidentId={incident && incident.id} />,
    Changed: <Changes monitorId={id} incidentId={incident && incident.id} />,
  };
  return (
    <Paper component="section" p="md" className={classes['situation'] ?? ''} aria-label="What is wrong">
      <Group justify="space-between" align="flex-start" gap="md">
        <Group gap="xs" wrap="nowrap" align="flex-start" className={classes['cause'] ?? ''} role="alert">
          <IconFlame aria-hidden />
          <Title order={2} size="h4" style={{ overflowWrap: 'anywhere' }}>
            {describeCause(incident?.cause ?? null, incident?.errorDetail ?? errorDetail)}
          </Title>
        </Group>
        <Runbook monitor={monitor} />
      </Group>
      <Facts facts={answers} labelWidth={86} gap="xs" mt="md" />
    </Paper>
  );
}

function Runbook({ monitor: { id, runbookUrl } }: MonitorProps): ReactNode {
  const can = useCan();
  if (runbookUrl === null)
    return (
      <Text size="sm">
        No runbook.{' '}
        {can.change && (
          <TextLink to="/monitors/$monitorId/edit" params={{ monitorId: id }} size="sm" underline="always">
            Add one
          </TextLink>
        )}
      </Text>
    );
  return (
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
  );
}

function IncidentState({ incident }: { readonly incident: Incident }): ReactNode {
  return (
    <Group gap="md">
      <TextLink to="/incidents/$incidentId" params={{ incidentId: incident.id }} size="sm" underline="always">
        Open the incident
      </TextLink>
      <Acknowledged incident={incident} />
    </Group>
  );
}

function Regions({ monitorId }: { readonly monitorId: string }): ReactNode {
  const { data: regions = [] } = useQuery(monitorRegionsQuery(monitorId));
  const { data: all = [] } = useQuery(regionsQuery);
  const unserved = useUnservedRegions();
  const isolated = isolatedRegions(all).map(({ region }) => region);
  return (
    <ul className={`plain-list ${classes['list'] ?? ''}`}>
      {groupRegions(regions, isolated, unserved).map(({ kind, text }) => (
        <li key={kind} data-kind={kind}>
          {text}
        </li>
      ))}
    </ul>
  );
}

/** The response to the last failed check. */
function LatestResponse({ monitorId }: { readonly monitorId: string }): ReactNode {
  const { data: events = [] } = useQuery(eventTailQuery(monitorId));
  const { failure, kept } = latestFailures(events);
  if (failure === null) return <Quiet>No failed check among the latest events.</Quiet>;
  const { statusCode, region, timestamp, timings } = failure;
  return (
    <>
      <div>
        {statusCode === null ? 'No response' : `Status code ${statusCode}`}, checked from {region},{' '}
        <Time value={timestamp} as="ago" />
      </div>
      <PhaseList timings={timings} />
      {kept && <KeptResponse event={kept} />}
    </>
  );
}
