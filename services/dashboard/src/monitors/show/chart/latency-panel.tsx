import { Button, Center, Group, SegmentedControl, Skeleton, Text } from '@mantine/core';
import { IconChartBar, IconTable } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { MonitorStats, StatsWindow } from '@tocsin/contracts/monitors/stats';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { formatLatency } from '../../../components/format.ts';
import { Loaded } from '../../../components/load-states.tsx';
import { Panel, ScrollRegion } from '../../../components/page.tsx';
import { monitorStatsQuery } from '../../queries.ts';
import { formatCount, formatUptime, WINDOW_NAMES, WINDOWS } from '../figures.ts';
import { PHASES } from '../phases.ts';
import { phaseColors, PhaseSwatch } from '../phases.tsx';
import showClasses from '../show.module.css';
import classes from './chart.module.css';
import { describeBucket, describeBucketUtc, PLOT_HEIGHT } from './plot-data.ts';

const LatencyPlot = lazy(async () => ({ default: (await import('./latency-plot.tsx')).LatencyPlot }));

interface LatencyPanelProps {
  readonly monitorId: string;
  readonly window: StatsWindow;
  readonly onWindow: (window: StatsWindow) => void;
}

/** How long checks took, and where the time went. */
export function LatencyPanel({ monitorId, window, onWindow }: LatencyPanelProps): ReactNode {
  const [asTable, setAsTable] = useState(false);
  const query = useQuery(monitorStatsQuery(monitorId, window));
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

/** What the colours and marks of the chart mean. */
export function LatencyLegend(): ReactNode {
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
        Gaps: checks that did not happen
      </li>
    </ul>
  );
}

const HEADS = ['Checks', 'Failed', 'Gaps', 'Uptime'] as const;
const PERCENTILES = ['p50', 'p95', 'p99'] as const;

/** The figures of the chart as a table, newest first. */
export function LatencyTable({
  stats,
  label,
}: {
  readonly stats: MonitorStats;
  readonly label: string;
}): ReactNode {
  return (
    <ScrollRegion label={label} maxHeight={PLOT_HEIGHT}>
      <table className={showClasses['table']}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {[...HEADS, ...PHASES.map(({ label }) => label), ...PERCENTILES].map((head) => (
              <th key={head} scope="col" className={showClasses['number']}>
                {head}
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
              {cellsOf(bucket).map(([head, text]) => (
                <td key={head} className={showClasses['number']}>
                  {text}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function cellsOf(bucket: MonitorStats['series'][number]): [string, string][] {
  const { checks, failures, gaps, uptime, timings, latency } = bucket;
  return [
    ['checks', formatCount(checks)],
    ['failures', formatCount(failures)],
    ['gaps', formatCount(gaps)],
    ['uptime', uptime === null ? '–' : formatUptime(uptime)],
    ...PHASES.map(({ phase }): [string, string] => [phase, timings ? formatLatency(timings[phase]) : '–']),
    ...PERCENTILES.map((name): [string, string] => [name, latency ? formatLatency(latency[name]) : '–']),
  ];
}
