import { Button, Center, Group, SegmentedControl, Skeleton } from '@mantine/core';
import { IconChartBar, IconTable } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { MonitorStats, StatsWindow } from '@tocsin/contracts/monitors/stats';
import { type ReactNode, useState } from 'react';
import { formatLatency } from '../../../components/format.ts';
import { Loaded } from '../../../components/load-states.tsx';
import { Panel, ScrollRegion } from '../../../components/page.tsx';
import { Quiet } from '../../../components/text.tsx';
import { monitorStatsQuery } from '../../queries.ts';
import {
  countColumns,
  formatCounts,
  formatPercentiles,
  hasChecks,
  PERCENTILES,
  WINDOW_NAMES,
  WINDOWS,
} from '../figures.ts';
import { PHASES } from '../phases.ts';
import { phaseColors, PhaseSwatch } from '../phases.tsx';
import showClasses from '../show.module.css';
import classes from './chart.module.css';
import { LatencyPlot } from './latency-plot.tsx';
import { describeBucket, describeBucketUtc } from './plot-data.ts';

/** The height of the plot and the table in pixels. */
const PLOT_HEIGHT = 260;

interface LatencyPanelProps {
  readonly monitorId: string;
  readonly window: StatsWindow;
  readonly onWindow: (window: StatsWindow) => void;
}

/** The latency within a window and its phases, as a chart or as a table. */
export function LatencyPanel({ monitorId, window, onWindow }: LatencyPanelProps): ReactNode {
  const [asTable, setAsTable] = useState(false);
  const query = useQuery(monitorStatsQuery(monitorId, window));
  const Icon = asTable ? IconChartBar : IconTable;
  return (
    <Panel
      title="Latency"
      actions={
        <Group gap="xs">
          <Button
            variant="subtle"
            color="gray"
            size="compact-sm"
            leftSection={<Icon size={16} aria-hidden />}
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
        {(stats) => <Latency stats={stats} asTable={asTable} />}
      </Loaded>
    </Panel>
  );
}

interface LatencyProps {
  readonly stats: MonitorStats;
  readonly asTable: boolean;
}

function Latency({ stats, asTable }: LatencyProps): ReactNode {
  const { latency } = stats;
  const period = `the last ${WINDOW_NAMES[stats.window]}`;
  if (!hasChecks(stats))
    return (
      <Center h={PLOT_HEIGHT + 28}>
        <Quiet size="md">No checks in {period}.</Quiet>
      </Center>
    );
  if (asTable) return <LatencyTable stats={stats} label={`Latency of ${period}`} />;
  const summary =
    latency === null
      ? 'no responses'
      : `median ${formatLatency(latency.p50)}, 95th percentile ${formatLatency(latency.p95)}`;
  return (
    <>
      <LatencyPlot stats={stats} label={`Latency of ${period}: ${summary}. See the table for all values.`} />
      <Legend />
    </>
  );
}

function Legend(): ReactNode {
  return (
    <ul className={`${phaseColors} ${classes['legend'] ?? ''}`} aria-label="Legend">
      {PHASES.map(({ phase, label, color }) => (
        <li key={phase}>
          <PhaseSwatch color={color} />
          {label}
        </li>
      ))}
      <li>
        <span className={classes['failure']} aria-hidden />
        Failed checks
      </li>
      <li>
        <span className={classes['gap']} aria-hidden />
        Gaps: missed checks
      </li>
      <li>
        <span className={classes['inconclusive']} aria-hidden />
        Inconclusive: region without network
      </li>
    </ul>
  );
}

function LatencyTable({ stats, label }: { readonly stats: MonitorStats; readonly label: string }): ReactNode {
  const counts = countColumns(stats.series);
  const columns = [...counts, ...PHASES.map(({ label }) => label), ...PERCENTILES];
  return (
    <ScrollRegion label={label} maxHeight={PLOT_HEIGHT}>
      <table className={showClasses['table']}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {columns.map((column) => (
              <th key={column} scope="col" className={showClasses['number']}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {stats.series.toReversed().map((bucket) => (
            <tr key={bucket.start}>
              <th scope="row" title={describeBucketUtc(bucket.start, stats.window)}>
                {describeBucket(bucket.start, stats.window)}
              </th>
              {[...formatCounts(bucket, counts), ...formatPhases(bucket), ...formatPercentiles(bucket)].map(
                (text, index) => (
                  <td key={columns[index]} className={showClasses['number']}>
                    {text}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function formatPhases({ timings }: MonitorStats['series'][number]): string[] {
  return PHASES.map(({ phase }) => (timings ? formatLatency(timings[phase]) : '–'));
}
