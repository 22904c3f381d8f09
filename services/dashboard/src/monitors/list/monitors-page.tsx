import { Button, Skeleton, Stack, VisuallyHidden } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconFilterOff, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useCallback, useMemo, useState } from 'react';
import { refreshEvery } from '../../api/query-client.ts';
import { Loaded } from '../../components/load-states.tsx';
import { EmptyState, PageHeader } from '../../components/page.tsx';
import { useDefaultRegion } from '../../session/session.ts';
import type { MonitorsSearch } from '../monitors-search.ts';
import { monitorsQuery } from '../queries.ts';
import { type Arrangement, createArranger, describeTotals } from './arrange-monitors.ts';
import { useLatencies } from './list-hooks.ts';
import { MonitorTable, ROW_HEIGHTS } from './monitor-table.tsx';
import { MonitorsToolbar } from './monitors-toolbar.tsx';

/** Loaded separately, because most accounts have monitors. */
const NoMonitorsYet = lazy(async () => ({ default: (await import('./no-monitors-yet.tsx')).NoMonitorsYet }));
/** Loaded when the user begins to select. */
const BulkLabels = lazy(async () => ({ default: (await import('./bulk-labels.tsx')).BulkLabels }));

const route = getRouteApi('/signed-in/');
/** For changes that the live stream does not deliver: new names and deleted monitors. */
const REFRESH_EVERY_MS = 5 * 60_000;
const PHONE = '(max-width: 48em)';

export function MonitorsPage(): ReactNode {
  const search = route.useSearch();
  const isPhone = useMediaQuery(PHONE, false, { getInitialValueInEffect: false });
  const latencies = useLatencies(search.order === 'latency');
  const defaultRegion = useDefaultRegion();
  const arrange = useMemo(() => createArranger(defaultRegion), [defaultRegion]);
  const query = useQuery({
    ...monitorsQuery,
    refetchInterval: refreshEvery(REFRESH_EVERY_MS),
    select: (monitors) => arrange(monitors, search, latencies),
  });
  const [plain, labeled] = ROW_HEIGHTS[isPhone ? 'phone' : 'desktop'];
  const rowHeight = query.data?.hasLabels === true ? labeled : plain;
  return (
    <>
      <PageHeader
        title="Monitors"
        hint={query.data === undefined ? 'Loading' : describeTotals(query.data.totals)}
        actions={
          <Button component={Link} to="/monitors/new" leftSection={<IconPlus size={16} aria-hidden />}>
            New monitor
          </Button>
        }
      />
      <Loaded query={query} pending={<ListSkeleton rowHeight={rowHeight} />}>
        {(arrangement) => <MonitorList arrangement={arrangement} search={search} rowHeight={rowHeight} />}
      </Loaded>
    </>
  );
}

interface MonitorListProps {
  readonly arrangement: Arrangement;
  readonly search: MonitorsSearch;
  readonly rowHeight: number;
}

function MonitorList({ arrangement, search, rowHeight }: MonitorListProps): ReactNode {
  const navigate = route.useNavigate();
  const { ids, totals, hasLabels } = arrangement;
  /** Null: the user is not selecting monitors. */
  const [selected, setSelected] = useState<ReadonlySet<string> | null>(null);
  const select = useCallback(
    (id: string, isSelected: boolean) =>
      setSelected((before) => {
        const after = new Set(before);
        if (isSelected) after.add(id);
        else after.delete(id);
        return after;
      }),
    [],
  );
  const all = totals.DOWN + totals.PENDING + totals.MAINTENANCE + totals.UP;
  if (all === 0)
    return (
      <Suspense fallback={<Skeleton height={445} />}>
        <NoMonitorsYet />
      </Suspense>
    );
  return (
    <>
      <MonitorsToolbar
        arrangement={arrangement}
        search={search}
        onChange={(change) =>
          void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
        }
        isSelecting={selected !== null}
        onSelecting={() => setSelected(selected === null ? new Set() : null)}
      />
      {selected !== null && (
        <Suspense>
          <BulkLabels shownIds={ids} selected={selected} onChange={setSelected} />
        </Suspense>
      )}
      <VisuallyHidden role="status">
        {ids.length === all ? '' : `${ids.length} of ${all} monitors shown`}
      </VisuallyHidden>
      {ids.length === 0 ? (
        <EmptyState
          icon={IconFilterOff}
          title="No monitors found"
          action={
            <Button
              variant="default"
              onClick={() => void navigate({ search: { order: search.order }, replace: true })}
            >
              Clear filters
            </Button>
          }
        >
          No monitor matches all filters.
        </EmptyState>
      ) : (
        // The virtualizer keeps the heights that it has measured.
        <MonitorTable
          key={rowHeight}
          ids={ids}
          rowHeight={rowHeight}
          hasLabels={hasLabels}
          search={search}
          selected={selected}
          onSelect={select}
        />
      )}
    </>
  );
}

/** As tall as the list. */
function ListSkeleton({ rowHeight }: { readonly rowHeight: number }): ReactNode {
  return (
    <div role="status">
      <VisuallyHidden>Loading the monitors</VisuallyHidden>
      <Stack gap="sm" mb="md" aria-hidden>
        <Skeleton height={36} />
        <Skeleton height={34} maw={480} />
      </Stack>
      <Stack gap={1} aria-hidden>
        {Array.from({ length: 10 }, (_, row) => (
          <Skeleton key={row} height={rowHeight - 1} radius={0} />
        ))}
      </Stack>
    </div>
  );
}
