import { Button, Group, SegmentedControl, Select, Stack, Text, Title } from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { ReactNode } from 'react';
import { describeCause, formatSpan, formatUtcSpan } from '../components/format.ts';
import { Loaded, LoadMore, Placeholder } from '../components/load-states.tsx';
import { EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Quiet, TextLink, Time, useNow } from '../components/text.tsx';
import { readerZone } from '../components/zoned-time.ts';
import { monitorsQuery } from '../monitors/queries.ts';
import { Acknowledged } from './acknowledgement.tsx';
import { inMaintenanceOf } from './down-count.ts';
import { describeDay, groupByDay } from './group-by-day.ts';
import classes from './incidents.module.css';
import { OpenStatus } from './open-status.tsx';
import { MAX_OPEN_INCIDENTS, openIncidentsQuery, resolvedIncidentsQuery } from './queries.ts';

const route = getRouteApi('/signed-in/incidents');

/** A span of two days shows both dates. */
const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

type State = 'open' | 'resolved';
const STATES: { value: State | 'all'; label: string }[] = [
  { value: 'all', label: 'All' },
  { value: 'open', label: 'Open' },
  { value: 'resolved', label: 'Resolved' },
];
/** Typing finds the other monitors. */
const MAX_LISTED_MONITORS = 50;

export function IncidentsPage(): ReactNode {
  const { state, monitorId = null } = route.useSearch();
  const navigate = route.useNavigate();
  const hasNone = useHasNone(monitorId);
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
        <MonitorFilter value={monitorId} onChange={(id) => filter({ monitorId: id ?? undefined })} />
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

/** Whether no incident is recorded, open or resolved. */
function useHasNone(monitorId: string | null): boolean {
  const { data: open } = useQuery(openIncidentsQuery);
  const { data: resolved } = useInfiniteQuery(resolvedIncidentsQuery(monitorId));
  const isOpen = open?.some((incident) => monitorId === null || incident.monitorId === monitorId);
  return isOpen === false && resolved?.length === 0;
}

interface MonitorFilterProps {
  /** Null: all monitors. */
  readonly value: string | null;
  readonly onChange: (monitorId: string | null) => void;
}

function MonitorFilter({ value, onChange }: MonitorFilterProps): ReactNode {
  const { data = [] } = useQuery(monitorsQuery);
  return (
    <Select
      aria-label="Monitor"
      placeholder="All monitors"
      size="sm"
      w={{ base: '100%', xs: 240 }}
      data={data.map(({ id, name }) => ({ value: id, label: name }))}
      value={value}
      onChange={onChange}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': 'Show all monitors' }}
      limit={MAX_LISTED_MONITORS}
      nothingFoundMessage="No matching monitors"
    />
  );
}

interface IncidentListProps {
  /** Null: the incidents of all monitors. */
  readonly monitorId: string | null;
}

function OpenIncidents({ monitorId }: IncidentListProps): ReactNode {
  const query = useQuery(openIncidentsQuery);
  const ofMonitor = (incidents: readonly Incident[]): readonly Incident[] =>
    incidents.filter((incident) => monitorId === null || incident.monitorId === monitorId);
  const shown = ofMonitor(query.data ?? []);
  const count = shown.length;
  const { data: inMaintenance } = useQuery({ ...monitorsQuery, select: inMaintenanceOf });
  const covered = new Set(inMaintenance);
  const maintained = shown.filter((incident) => covered.has(incident.monitorId)).length;
  const note = maintained === 0 ? '' : ` (${maintained} in maintenance)`;
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
              <ul className={classes['list']}>
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
    <li className={classes['row']}>
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

/** Resolved incidents, by day. */
function ResolvedIncidents({ monitorId }: IncidentListProps): ReactNode {
  const query = useInfiniteQuery(resolvedIncidentsQuery(monitorId));
  return (
    <Panel title="Resolved">
      <Loaded
        query={query}
        pending={<Placeholder heights={[18, 40, 41, 42]} />}
        empty={<Quiet py={6}>No resolved incidents yet.</Quiet>}
      >
        {(incidents) => <Days incidents={incidents} />}
      </Loaded>
      <LoadMore query={query} />
    </Panel>
  );
}

function Days({ incidents }: { readonly incidents: readonly Incident[] }): ReactNode {
  const zone = readerZone();
  const now = useNow();
  return (
    <Stack gap="lg">
      {[...groupByDay(incidents, ({ openedAt }) => openedAt, zone)].map(([date, items]) => (
        <section key={date} aria-label={describeDay(date, now, zone)}>
          <Title order={3} size="h6" c="var(--text-quiet)" mb={4}>
            {describeDay(date, now, zone)}
          </Title>
          <ul className={classes['list']} data-timeline>
            {items.map((incident) => (
              <ResolvedIncident key={incident.id} incident={incident} />
            ))}
          </ul>
        </section>
      ))}
    </Stack>
  );
}

function ResolvedIncident({ incident }: { readonly incident: Incident }): ReactNode {
  const { openedAt, resolvedAt, durationSeconds } = incident;
  const from = new Date(openedAt);
  const to = new Date(resolvedAt ?? openedAt);
  return (
    <li className={classes['row']}>
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
