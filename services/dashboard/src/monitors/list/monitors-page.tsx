import { Button, Skeleton, Stack, VisuallyHidden } from '@mantine/core';
import { useLocalStorage, useMediaQuery } from '@mantine/hooks';
import { IconFilterOff, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useCallback, useMemo, useRef, useState } from 'react';
import { refreshEvery } from '../../api/query-client.ts';
import { formatNumber } from '../../components/format.ts';
import { Loaded } from '../../components/load-states.tsx';
import { LinkButton } from '../../components/buttons.tsx';
import { EmptyState, PageHeader } from '../../components/page.tsx';
import { useUnservedRegions } from '../../regions/regions.ts';
import { useCan, useDefaultRegion } from '../../session/session.ts';
import { type MonitorsSearch, withoutFilters } from '../monitors-search.ts';
import { monitorsQuery } from '../queries.ts';
import { type Arrangement, createArranger, describeTotals, listRows, rangeOf } from './arrange-monitors.ts';
import { type ColumnChoice, fitColumns, phoneColumns, readColumns } from './columns.ts';
import { useLatencies, useWidth } from './list-hooks.ts';
import { MonitorTable, ROW_HEIGHTS } from './monitor-table.tsx';
import { MonitorsToolbar } from './monitors-toolbar.tsx';
import type { Latencies } from './sort-monitors.ts';

const NoMonitorsYet = lazy(async () => ({ default: (await import('./no-monitors-yet.tsx')).NoMonitorsYet }));
const BulkBar = lazy(async () => ({ default: (await import('./bulk/bulk-bar.tsx')).BulkBar }));

const route = getRouteApi('/signed-in/');
/** For changes that the live stream does not deliver. */
const REFRESH_EVERY_MS = 5 * 60_000;
const PHONE = '(max-width: 48em)';

export function MonitorsPage(): ReactNode {
  const search = route.useSearch();
  const isPhone = useMediaQuery(PHONE, false, { getInitialValueInEffect: false });
  const choices = useMemo(() => readColumns(search), [search]);
  const latencies = useLatencies(choices.includes('p95') || choices.includes('p99'));
  const unserved = useUnservedRegions();
  const defaultRegion = useDefaultRegion();
  const can = useCan();
  const arrange = useMemo(() => createArranger(defaultRegion), [defaultRegion]);
  const query = useQuery({
    ...monitorsQuery,
    refetchInterval: refreshEvery(REFRESH_EVERY_MS),
    select: (monitors) => arrange(monitors, search, { latencies, unserved, now: Date.now() }),
  });
  const [isDense, setDense] = useLocalStorage({
    key: 'tocsin.dense-list',
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const density = isPhone ? 'phone' : isDense ? 'dense' : 'desktop';
  const hasLabels =
    density !== 'dense' && choices.includes('labels') && (query.data?.labelKeys.length ?? 0) > 0;
  const [plain, labeled] = ROW_HEIGHTS[density];
  const rowHeight = hasLabels ? labeled : plain;
  const isEmpty = query.data !== undefined && Object.values(query.data.totals).every((total) => total === 0);
  const look = { choices, hasLabels, rowHeight, latencies, density, isDense, setDense } as const;
  return (
    <>
      <PageHeader
        title="Monitors"
        hint={query.data === undefined ? 'Loading' : describeTotals(query.data)}
        actions={
          !isEmpty &&
          can.change && (
            <LinkButton variant="filled" icon={IconPlus} to="/monitors/new">
              New monitor
            </LinkButton>
          )
        }
      />
      <Loaded query={query} pending={<ListSkeleton rowHeight={rowHeight} />}>
        {(arrangement) => <MonitorList arrangement={arrangement} search={search} look={look} />}
      </Loaded>
    </>
  );
}

interface MonitorListProps {
  readonly arrangement: Arrangement;
  readonly search: MonitorsSearch;
  readonly look: {
    readonly choices: readonly ColumnChoice[];
    readonly hasLabels: boolean;
    readonly rowHeight: number;
    readonly latencies: Latencies;
    readonly density: keyof typeof ROW_HEIGHTS;
    readonly isDense: boolean;
    readonly setDense: (isDense: boolean) => void;
  };
}

function MonitorList({ arrangement, search, look }: MonitorListProps): ReactNode {
  const navigate = route.useNavigate();
  const { ids, totals } = arrangement;
  /** Null while the user is not selecting monitors. */
  const [selected, setSelected] = useState<ReadonlySet<string> | null>(null);
  const lastSelected = useRef<string | null>(null);
  const select = useCallback(
    (id: string, isSelected: boolean, isRange: boolean) => {
      const changed = isRange ? rangeOf(ids, lastSelected.current, id) : [id];
      lastSelected.current = id;
      setSelected((before) => {
        const after = new Set(before);
        for (const one of changed) after[isSelected ? 'add' : 'delete'](one);
        return after;
      });
    },
    [ids],
  );
  const [collapsed, setCollapsed] = useState<ReadonlySet<string | null>>(new Set());
  const [tableRef, width] = useWidth();
  const { order = 'status' } = search;
  const { choices, isDense, setDense, ...rest } = look;
  const isPhone = look.density === 'phone';
  const rows = useMemo(() => listRows(arrangement, collapsed), [arrangement, collapsed]);
  const fitting = useMemo(
    () => (isPhone ? phoneColumns(order) : fitColumns(choices, order, width ?? Infinity)),
    [isPhone, choices, order, width],
  );
  const all = Object.values(totals).reduce((sum, count) => sum + count, 0);
  if (all === 0)
    return (
      <Suspense fallback={<Skeleton height={445} />}>
        <NoMonitorsYet />
      </Suspense>
    );
  const change = (changed: MonitorsSearch): void =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <>
      <MonitorsToolbar
        arrangement={arrangement}
        search={search}
        onChange={change}
        isSelecting={selected !== null}
        onSelecting={() => setSelected(selected === null ? new Set() : null)}
        collapsed={collapsed}
        onCollapsed={setCollapsed}
        isDense={isDense}
        onDense={setDense}
      />
      {selected !== null && (
        <Suspense>
          <BulkBar shownIds={ids} selected={selected} onChange={setSelected} />
        </Suspense>
      )}
      <VisuallyHidden role="status">
        {ids.length === all ? '' : `${formatNumber(ids.length)} of ${formatNumber(all)} monitors shown`}
      </VisuallyHidden>
      {ids.length === 0 ? (
        <EmptyState
          icon={IconFilterOff}
          title="No monitors found"
          action={
            <Button
              variant="default"
              onClick={() => void navigate({ search: withoutFilters(search), replace: true })}
            >
              Clear filters
            </Button>
          }
        >
          No monitor matches all filters.
        </EmptyState>
      ) : (
        <div ref={tableRef}>
          <MonitorTable
            rows={rows}
            {...rest}
            {...fitting}
            search={search}
            onOrder={change}
            collapsed={collapsed}
            onCollapse={(value) => {
              const after = new Set(collapsed);
              if (!after.delete(value)) after.add(value);
              setCollapsed(after);
            }}
            selected={selected}
            onSelect={select}
          />
        </div>
      )}
    </>
  );
}

/** This is as tall as a list of ten monitors. */
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
