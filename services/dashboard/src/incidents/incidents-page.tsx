import { Button, Group, SegmentedControl, Select, Stack, Text } from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { ReactNode } from 'react';
import { describeCause, formatSpan, formatUtcSpan } from '../components/format.ts';
import { Loaded, LoadMore, Placeholder } from '../components/load-states.tsx';
import { EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Quiet, TextLink, Time, useNow } from '../components/text.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { Acknowledged } from './acknowledgement.tsx';
import { Days } from './days.tsx';
import { silencedOf } from './down-count.ts';
import classes from './incidents.module.css';
import { OpenStatus } from './open-status.tsx';
import { MAX_OPEN_INCIDENTS, openIncidentsQuery, resolvedIncidentsQuery } from './queries.ts';

const route = getRouteApi('/signed-in/incidents');

/** Formatted ranges include the dates if they differ. */
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

type State = 'open' | 'resolved';
const STATES: { value: State | 'all'; label: string }[] = [
  { value: 'all', label: 'All' },
  { value: 'open', label: 'Open' },
  { value: 'resolved', label: 'Resolved' },
];
/** Users find the other monitors by typing. */
const MAX_LISTED_MONITORS = 50;

export function IncidentsPage(): ReactNode {
  const { state, monitorId = null } = route.useSearch();
  const navigate = route.useNavigate();
  const hasNone = useHasNone(monitorId);
  const { data: monitors = [] } = useQuery(monitorsQuery);
  const filter = (change: { state?: State | undefined; monitorId?: string | undefined }): void =>
    void navigate({ replace: true, search: (search) => ({ ...search, ...change }) });
  return (
    <>
      <PageHeader title="Incidents" hint="From a monitor going down until it is up again" />
      <Group mb="md" gap="sm">
        <SegmentedControl
          size="sm"
          aria-label="Incident state"
          data={STATES}
          value={state ?? 'all'}
          onChange={(value) => filter({ state: value === 'all' ? undefined : value })}
        />
        <Select
          aria-label="Monitor"
          placeholder="All monitors"
          size="sm"
          w={{ base: '100%', xs: 240 }}
          data={monitors.map(({ id, name }) => ({ value: id, label: name }))}
          value={monitorId}
          onChange={(id) => filter({ monitorId: id ?? undefined })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': 'Show all monitors' }}
          limit={MAX_LISTED_MONITORS}
          nothingFoundMessage="No matching monitors"
        />
      </Group>
      {hasNone ? (
        <EmptyState
          icon={IconCircleCheck}
          title="No incidents yet"
          action={
            monitorId !== null && (
              <Button variant="default" onClick={() => filter({ monitorId: undefined })}>
                Show all monitors
              </Button>
            )
          }
        >
          {monitorId === null
            ? 'No monitor has been down. New incidents appear here automatically.'
            : 'This monitor has not been down.'}
        </EmptyState>
      ) : (
        <Stack>
          {state !== 'resolved' && <OpenIncidents monitorId={monitorId} />}
          {state !== 'open' && <ResolvedIncidents monitorId={monitorId} />}
        </Stack>
      )}
    </>
  );
}

/** True if neither open nor resolved incidents are recorded. */
function useHasNone(monitorId: string | null): boolean {
  const { data: open } = useQuery(openIncidentsQuery);
  const { data: resolved } = useInfiniteQuery(resolvedIncidentsQuery(monitorId));
  return open !== undefined && ofMonitor(open, monitorId).length === 0 && resolved?.length === 0;
}

function ofMonitor(incidents: readonly Incident[], monitorId: string | null): readonly Incident[] {
  return incidents.filter((incident) => monitorId === null || incident.monitorId === monitorId);
}

interface IncidentListProps {
  /** Null for all monitors. */
  readonly monitorId: string | null;
}

function OpenIncidents({ monitorId }: IncidentListProps): ReactNode {
  const query = useQuery(openIncidentsQuery);
  const shown = ofMonitor(query.data ?? [], monitorId);
  const count = shown.length;
  const { data: maintainedIds = [] } = useQuery({ ...monitorsQuery, select: silencedOf });
  const maintained = shown.filter((incident) => maintainedIds.includes(incident.monitorId)).length;
  const note = maintained === 0 ? '' : ` (${maintained} paused or in maintenance)`;
  return (
    <Panel title={count > 0 ? `Open: ${count}${note}` : 'Open'}>
      <Loaded query={query} pending={<Placeholder heights={[44]} />}>
        {(incidents) => (
          <>
            {count === 0 ? (
              <Group gap={8} py={6}>
                <IconCircleCheck size={20} color="var(--status-up)" aria-hidden />
                <Text size="sm">No open incidents</Text>
              </Group>
            ) : (
              <ul className="plain-list">
                {shown.map((incident) => (
                  <OpenIncident key={incident.id} incident={incident} />
                ))}
              </ul>
            )}
            {incidents.length >= MAX_OPEN_INCIDENTS && (
              <Quiet mt="sm">Only the latest {MAX_OPEN_INCIDENTS} open incidents are shown.</Quiet>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function OpenIncident({ incident }: { readonly incident: Incident }): ReactNode {
  const now = useNow();
  const seconds = Math.max(incident.durationSeconds, (now - Date.parse(incident.openedAt)) / 1_000);
  return (
    <li className={classes['row']} data-row>
      <OpenStatus monitorId={incident.monitorId} />
      <MonitorAndCause incident={incident} />
      <div className={classes['when']}>
        <Text size="sm" fw={500} className="tabular">
          open for {formatSpan(seconds)}
        </Text>
        <Quiet size="xs">
          since <Time value={incident.openedAt} />
        </Quiet>
      </div>
    </li>
  );
}

function ResolvedIncidents({ monitorId }: IncidentListProps): ReactNode {
  const query = useInfiniteQuery(resolvedIncidentsQuery(monitorId));
  return (
    <Panel title="Resolved">
      <Loaded
        query={query}
        pending={<Placeholder heights={[18, 40, 41, 42]} />}
        empty={<Quiet py={6}>No resolved incidents yet.</Quiet>}
      >
        {(incidents) => (
          <Stack gap="lg">
            <Days items={incidents} timeOf={({ openedAt }) => openedAt} order={3}>
              {(ofDay) => (
                <ul className={`plain-list ${classes['timeline'] ?? ''}`}>
                  {ofDay.map((incident) => (
                    <ResolvedIncident key={incident.id} incident={incident} />
                  ))}
                </ul>
              )}
            </Days>
          </Stack>
        )}
      </Loaded>
      <LoadMore query={query} />
    </Panel>
  );
}

function ResolvedIncident({ incident }: { readonly incident: Incident }): ReactNode {
  const { openedAt, resolvedAt, durationSeconds } = incident;
  const from = new Date(openedAt);
  const to = new Date(resolvedAt ?? openedAt);
  return (
    <li className={classes['row']} data-row>
      <Text size="sm" className={`tabular ${classes['span'] ?? ''}`} title={formatUtcSpan(from, to)}>
        {TIME.formatRange(from, to)}
      </Text>
      <MonitorAndCause incident={incident} />
      <Text size="sm" className={`tabular ${classes['when'] ?? ''}`}>
        lasted {formatSpan(durationSeconds)}
      </Text>
    </li>
  );
}

function MonitorAndCause({ incident }: { readonly incident: Incident }): ReactNode {
  const { id, monitorName, cause, errorDetail, region, resolvedAt } = incident;
  return (
    <div className={classes['what']}>
      <TextLink
        to="/incidents/$incidentId"
        params={{ incidentId: id }}
        fw={500}
        {...(resolvedAt !== null && { c: 'inherit' })}
      >
        {monitorName}
      </TextLink>
      <Quiet>
        {describeCause(cause, errorDetail)} · {region}
      </Quiet>
      <Acknowledged incident={incident} />
    </div>
  );
}
