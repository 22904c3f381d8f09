import { Button, Group, Stack, Text } from '@mantine/core';
import { IconActivityHeartbeat, IconFlameOff, IconNotebook } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { Timeline as TimelineData } from '@tocsin/contracts/incidents/timeline';
import type { ReactNode } from 'react';
import { isStatus } from '../api/request.ts';
import { LinkButton } from '../components/buttons.tsx';
import { describeCause, formatSpan } from '../components/format.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Quiet, StateBadge, Time, useNow } from '../components/text.tsx';
import { monitorQuery, monitorRegionsQuery } from '../monitors/queries.ts';
import { KeptResponse } from '../monitors/show/tail/kept-response.tsx';
import { Acknowledged, AcknowledgeButton } from './acknowledgement.tsx';
import classes from './incident.module.css';
import { NoteComposer } from './notes.tsx';
import { OpenStatus } from './open-status.tsx';
import { incidentQuery, timelineQuery } from './queries.ts';
import { Timeline } from './timeline.tsx';
import { describeFailing } from '../regions/regions.ts';
import { useCan } from '../session/session.ts';

const route = getRouteApi('/signed-in/incidents/$incidentId');

export function IncidentPage(): ReactNode {
  const { incidentId } = route.useParams();
  const query = useQuery(incidentQuery(incidentId));
  if (isStatus(query.error, 404)) return <NoIncident />;
  const pending = (
    <div role="status" aria-label="Loading the incident">
      <Placeholder heights={[96, 120, 360]} />
    </div>
  );
  return (
    <Loaded query={query} pending={pending}>
      {(incident) => <IncidentPanels key={incidentId} incident={incident} />}
    </Loaded>
  );
}

function NoIncident(): ReactNode {
  return (
    <>
      <PageHeader title="Incident not found" />
      <EmptyState
        icon={IconFlameOff}
        title="No incident with this link"
        action={
          <LinkButton variant="filled" to="/incidents">
            All incidents
          </LinkButton>
        }
      >
        Incidents are deleted with their monitor, and 13 months after they end.
      </EmptyState>
    </>
  );
}

interface IncidentProps {
  readonly incident: Incident;
}

function IncidentPanels({ incident }: IncidentProps): ReactNode {
  const query = useQuery(timelineQuery(incident.id));
  const can = useCan();
  return (
    <Stack gap="md">
      <IncidentHead incident={incident} />
      <WhatHappened incident={incident} timeline={query.data} />
      <Panel title="Timeline">
        <Loaded query={query} pending={<Placeholder heights={[24, 24, 24, 24]} />}>
          {(timeline) => <Timeline incident={incident} timeline={timeline} />}
        </Loaded>
      </Panel>
      {can.change && (
        <Panel title="Notes">
          <NoteComposer incidentId={incident.id} />
        </Panel>
      )}
    </Stack>
  );
}

function IncidentHead({ incident }: IncidentProps): ReactNode {
  const { monitorId, monitorName, resolvedAt, acknowledgedBy } = incident;
  const isOpen = resolvedAt === null;
  const title = isOpen ? `${monitorName} is down` : `${monitorName} was down`;
  const { data } = useQuery(monitorQuery(monitorId));
  const runbookUrl = data?.monitor.runbookUrl ?? null;
  return (
    <PageHeader
      title={title}
      documentTitle={acknowledgedBy === null ? title : `${title}, acknowledged by ${acknowledgedBy.name}`}
      hint={<Facts incident={incident} />}
      actions={
        <>
          {isOpen && <AcknowledgeButton incident={incident} />}
          {runbookUrl !== null && (
            <Button
              component="a"
              href={runbookUrl}
              target="_blank"
              rel="noreferrer"
              variant="default"
              leftSection={<IconNotebook size={16} aria-hidden />}
            >
              Runbook
            </Button>
          )}
          <LinkButton icon={IconActivityHeartbeat} to="/monitors/$monitorId" params={{ monitorId }}>
            Open monitor
          </LinkButton>
        </>
      }
    />
  );
}

function Facts({ incident }: IncidentProps): ReactNode {
  const { openedAt, resolvedAt, durationSeconds } = incident;
  const now = useNow(resolvedAt === null);
  const seconds = Math.max(durationSeconds, (now - Date.parse(openedAt)) / 1_000);
  return (
    <Stack gap={4} mt={6}>
      <Group gap="xs">
        {resolvedAt === null ? (
          <>
            <OpenStatus monitorId={incident.monitorId} />
            <span className="tabular">incident open for {formatSpan(seconds)}</span>
            <span>
              since <Time value={openedAt} />
            </span>
          </>
        ) : (
          <>
            <StateBadge look={{ label: 'Resolved', icon: IconFlameOff, tone: 'good' }} />
            <span className="tabular">after {formatSpan(durationSeconds)}</span>
            <span>
              <Time value={openedAt} /> to <Time value={resolvedAt} />
            </span>
          </>
        )}
      </Group>
      <Acknowledged incident={incident} />
    </Stack>
  );
}

interface WhatHappenedProps extends IncidentProps {
  readonly timeline: TimelineData | undefined;
}

/** Shows the cause, the regions that saw it, and the target's response. */
function WhatHappened({ incident, timeline }: WhatHappenedProps): ReactNode {
  const { cause, errorDetail, region, resolvedAt } = incident;
  const response = timeline?.entries.find((entry) => entry.kind === 'check' && entry.check.hasResponse);
  return (
    <Panel title="Cause">
      <Stack gap="xs" align="flex-start">
        <Text fw={500} className={classes['cause'] ?? ''}>
          {describeCause(cause, errorDetail)}
        </Text>
        <Quiet>
          {resolvedAt === null ? <FailingRegions incident={incident} /> : `First failed in region ${region}.`}
        </Quiet>
        {response?.kind === 'check' && <KeptResponse event={response.check} />}
      </Stack>
    </Panel>
  );
}

function FailingRegions({ incident: { monitorId, region } }: IncidentProps): ReactNode {
  const { data = [] } = useQuery(monitorRegionsQuery(monitorId));
  const failing = data.filter((each) => each.failing).map((each) => each.region);
  return describeFailing(failing, data.length, region);
}
