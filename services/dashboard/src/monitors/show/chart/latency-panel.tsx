import { Button, Center, Group, SegmentedControl, Skeleton, Text } from '@mantine/core';
import { IconChartBar, IconTable } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { MonitorStats, StatsWindow } from '@tocsin/contracts/monitors/stats';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { formatLatency } from '../../../components/format-latency.ts';
import { Loaded } from '../../../components/loaded.tsx';
import { Panel } from '../../../components/panel.tsx';
import { monitorStatsQuery } from '../../queries.ts';
import { WINDOW_NAMES, WINDOWS } from '../figures.ts';
import { STATS_REFRESH } from '../stats-refresh.ts';
import { LatencyLegend } from './latency-legend.tsx';
import { LatencyTable } from './latency-table.tsx';
import { PLOT_HEIGHT } from './plot-size.ts';

const LatencyPlot = lazy(async () => ({ default: (await import('./latency-plot.tsx')).LatencyPlot }));

interface LatencyPanelProps {
  readonly monitorId: string;
  readonly window: StatsWindow;
  readonly onWindow: (window: StatsWindow) => void;
}

/** How long checks took, and where the time went. */
export function LatencyPanel({ monitorId, window, onWindow }: LatencyPanelProps): ReactNode {
  const [asTable, setAsTable] = useState(false);
  const query = useQuery({ ...monitorStatsQuery(monitorId, window), ...STATS_REFRESH });
  return (
    <Panel
      title="Latency"
      actions={
        <Group gap="xs">
          <Button
            variant="subtle"
            color="gray"
            size="compact-sm"
            leftSection={
              asTable ? <IconChartBar size={16} aria-hidden /> : <IconTable size={16} aria-hidden />
            }
            onClick={() => setAsTable(!asTable)}
          >
            {asTable ? 'Show as chart' : 'Show as table'}
          </Button>
          <SegmentedControl
            size="xs"
            aria-label="Window"
            data={WINDOWS.map((value) => ({ value, label: value }))}
            value={window}
            onChange={onWindow}
          />
        </Group>
      }
    >
      <Loaded query={query} pending={<Skeleton height={PLOT_HEIGHT + 28} />}>
        {(stats) => <LatencyFigures stats={stats} asTable={asTable} />}
      </Loaded>
    </Panel>
  );
}

function LatencyFigures({
  stats,
  asTable,
}: {
  readonly stats: MonitorStats;
  readonly asTable: boolean;
}): ReactNode {
  const name = `Latency of the last ${WINDOW_NAMES[stats.window]}`;
  if (stats.checks === 0 && stats.gaps === 0)
    return (
      <Center h={PLOT_HEIGHT + 28}>
        <Text c="var(--text-quiet)">No checks in the last {WINDOW_NAMES[stats.window]}.</Text>
      </Center>
    );
  if (asTable) return <LatencyTable stats={stats} label={name} />;
  return (
    <Suspense fallback={<Skeleton height={PLOT_HEIGHT + 28} />}>
      <LatencyPlot stats={stats} label={`${name}: ${describeLatency(stats)}. The table has all figures.`} />
      <LatencyLegend />
    </Suspense>
  );
}

function describeLatency({ latency }: MonitorStats): string {
  if (latency === null) return 'no check was answered';
  return `half of the checks within ${formatLatency(latency.p50)}, 95 % within ${formatLatency(latency.p95)}`;
}
