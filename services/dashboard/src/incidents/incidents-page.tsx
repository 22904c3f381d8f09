import { Button, Group, SegmentedControl, Select, Stack } from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { EmptyState, PageHeader } from '../components/page.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { OpenIncidents, ResolvedIncidents } from './incident-lists.tsx';
import { openIncidentsQuery, resolvedIncidentsQuery } from './queries.ts';

const route = getRouteApi('/signed-in/incidents');

type State = 'open' | 'resolved';
const STATES: { value: State | 'all'; label: string }[] = [
  { value: 'all', label: 'All' },
  { value: 'open', label: 'Open' },
  { value: 'resolved', label: 'Resolved' },
];
/** People find the other monitors by typing. */
const MAX_LISTED_MONITORS = 50;

export function IncidentsPage(): ReactNode {
  const { state, monitorId = null } = route.useSearch();
  const navigate = route.useNavigate();
  const hasNone = useHasNone(monitorId);
  const filter = (change: { state?: State | undefined; monitorId?: string | undefined }): void =>
    void navigate({ replace: true, search: (search) => ({ ...search, ...change }) });
  return (
    <>
      <PageHeader
        title="Incidents"
        hint="Each incident lasts from when a monitor goes down until it is up again."
      />
      <Group mb="md" gap="sm">
        <SegmentedControl
          size="sm"
          aria-label="State of the incidents"
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
