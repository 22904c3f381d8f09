import { Button, Group, SegmentedControl, Select, Stack } from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { EmptyState } from '../components/empty-state.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { OpenIncidents, PastIncidents } from './incident-lists.tsx';
import { openIncidentsQuery, pastIncidentsQuery } from './queries.ts';

const route = getRouteApi('/signed-in/incidents');

const STATES = [
  { value: 'all', label: 'All' },
  { value: 'open', label: 'Open' },
  { value: 'resolved', label: 'Resolved' },
];

export function IncidentsPage(): ReactNode {
  const { state, monitorId } = route.useSearch();
  const navigate = route.useNavigate();
  const isCalm = useIsCalm(monitorId ?? null);
  const setState = (value: string): void =>
    void navigate({
      replace: true,
      search: { monitorId, state: value === 'open' || value === 'resolved' ? value : undefined },
    });
  const setMonitor = (id: string | null): void =>
    void navigate({ replace: true, search: { state, monitorId: id ?? undefined } });
  return (
    <>
      <PageHeader title="Incidents" hint="From when a monitor went down until it came back." />
      <Group mb="md" gap="sm">
        <SegmentedControl
          size="sm"
          aria-label="State of the incidents"
          data={STATES}
          value={state ?? 'all'}
          onChange={setState}
        />
        <MonitorFilter value={monitorId ?? null} onChange={setMonitor} />
      </Group>
      {isCalm ? (
        <EmptyState
          icon={IconCircleCheck}
          title="Nothing is wrong"
          action={
            monitorId !== undefined && (
              <Button variant="default" onClick={() => setMonitor(null)}>
                Show all monitors
              </Button>
            )
          }
        >
          {monitorId === undefined
            ? 'No monitor has been down. What happens appears here by itself.'
            : 'This monitor has not been down.'}
        </EmptyState>
      ) : (
        <Stack>
          {state !== 'resolved' && <OpenIncidents monitorId={monitorId ?? null} />}
          {state !== 'open' && <PastIncidents monitorId={monitorId ?? null} />}
        </Stack>
      )}
    </>
  );
}

/** Whether there never was an incident, as far as is kept. */
function useIsCalm(monitorId: string | null): boolean {
  const { data: open } = useQuery(openIncidentsQuery);
  const { data: past } = useInfiniteQuery(pastIncidentsQuery(monitorId));
  const isOpen = open?.some((incident) => monitorId === null || incident.monitorId === monitorId);
  return isOpen === false && past?.pages[0]?.length === 0;
}

/** More are found by typing. */
const MOST_SHOWN = 50;

interface MonitorFilterProps {
  /** Null: all. */
  readonly value: string | null;
  readonly onChange: (monitorId: string | null) => void;
}

export function MonitorFilter({ value, onChange }: MonitorFilterProps): ReactNode {
  const { data } = useQuery(monitorsQuery);
  const choices = useMemo(() => data?.map(({ id, name }) => ({ value: id, label: name })) ?? [], [data]);
  return (
    <Select
      aria-label="Monitor"
      placeholder="All monitors"
      size="sm"
      w={{ base: '100%', xs: 240 }}
      data={choices}
      value={value}
      onChange={onChange}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': 'Show all monitors' }}
      limit={MOST_SHOWN}
      nothingFoundMessage="No such monitor"
    />
  );
}
