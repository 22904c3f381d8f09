import { Center, Group, SegmentedControl, SimpleGrid, Skeleton, Text, Tooltip } from '@mantine/core';
import { IconZoomReset } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { MonitorStats, StatsWindow } from '@tocsin/contracts/monitors/stats';
import { type ReactNode, useState } from 'react';
import { IconButton } from '../../../components/buttons.tsx';
import { formatCount, formatLatency, formatSpan } from '../../../components/format.ts';
import { Loaded } from '../../../components/load-states.tsx';
import { Panel } from '../../../components/page.tsx';
import { Quiet, useNow } from '../../../components/text.tsx';
import { type History, monitorHistoryQuery } from '../../queries.ts';
import { describeChecks, formatShare, hasChecks } from '../figures.ts';
import { HistoryChart } from './history-chart.tsx';
import { Legend } from './legend.tsx';
import { WINDOWS } from './history-search.ts';
import { HistoryTable } from './history-table.tsx';
import { describeFromTo, describeRange, isTooLong, type PeriodChoice, WINDOW_NAMES } from './period.ts';
import { describeMeasured, type PlotView } from './plot-data.ts';

/** Height of the charts and the table in pixels. */
const HEIGHT = 292;

const VIEWS: readonly { readonly value: PlotView | 'table'; readonly label: string }[] = [
  { value: 'percentiles', label: 'Percentiles' },
  { value: 'phases', label: 'Phases' },
  { value: 'table', label: 'Table' },
];

/** Changes the shown period. Null resets the zoom. */
export type OnPeriod = (change: PeriodChoice | null) => void;

interface HistoryPanelProps {
  readonly monitor: Monitor;
  readonly period: PeriodChoice;
  readonly onPeriod: OnPeriod;
}

/** Status, latency and figures of a monitor over a period. */
export function HistoryPanel({ monitor, period, onPeriod }: HistoryPanelProps): ReactNode {
  const [view, setView] = useState<PlotView | 'table'>('percentiles');
  const query = useQuery(monitorHistoryQuery(monitor.id, period));
  return (
    <Panel title="History" actions={<PeriodControl monitor={monitor} period={period} onPeriod={onPeriod} />}>
      <Loaded query={query} pending={<Skeleton height={HEIGHT + 130} />}>
        {(history) => (
          <>
            <Quiet mb="sm">{describePeriod(history, monitor.createdAt)}</Quiet>
            <Figures history={history} createdAt={monitor.createdAt} />
            <Group justify="flex-end" my="xs">
              <SegmentedControl
                size="xs"
                aria-label="View"
                data={[...VIEWS]}
                value={view}
                onChange={(value) => setView(value)}
              />
            </Group>
            <Charts history={history} view={view} onPeriod={onPeriod} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function PeriodControl({ monitor, period, onPeriod }: HistoryPanelProps): ReactNode {
  const ageMs = useNow() - Date.parse(monitor.createdAt);
  const window = 'window' in period ? period.window : null;
  return (
    <Group gap="xs">
      {window === null && (
        <Tooltip label="Escape">
          <IconButton size="compact-sm" icon={IconZoomReset} onClick={() => onPeriod(null)}>
            Reset zoom
          </IconButton>
        </Tooltip>
      )}
      <SegmentedControl
        size="xs"
        aria-label="Period"
        data={WINDOWS.map((value) => ({
          value,
          label: value,
          disabled: value !== window && isTooLong(value, ageMs),
        }))}
        // An empty value selects nothing.
        value={window ?? ''}
        onChange={(value) => onPeriod({ window: value as StatsWindow })}
      />
    </Group>
  );
}

/** Describes the period of the figures, which starts no earlier than the monitor. */
function describePeriod({ stats, states }: History, createdAt: string): string {
  const [from, to, created] = [states.from, states.to, createdAt].map((time) => Date.parse(time)) as [
    number,
    number,
    number,
  ];
  if (created >= to) return `${describeRange(from, to)}: before the monitor was created`;
  if (created > from) return `Since the monitor was created: ${formatSpan((to - created) / 1_000)}`;
  return stats.window === null ? describeRange(from, to) : `Last ${WINDOW_NAMES[stats.window]}`;
}

interface FiguresProps {
  readonly history: History;
  readonly createdAt: string;
}

/** Uptime and downtime equal those of an availability report without maintenance. */
function Figures({ history: { stats, states }, createdAt }: FiguresProps): ReactNode {
  const { latency } = stats;
  const figures: readonly { label: string; value: string; note: string }[] = [
    {
      label: 'Uptime',
      value: stats.uptime === null ? '–' : formatShare(stats.uptime),
      note: describeMeasured(states, createdAt),
    },
    {
      label: 'Time down',
      value: states.downSeconds === 0 ? 'None' : formatSpan(states.downSeconds),
      note: states.incidents === 0 ? 'No incidents' : formatCount(states.incidents, 'incident'),
    },
    {
      label: 'Checks passed',
      value: stats.passRate === null ? 'No checks' : formatShare(stats.passRate),
      note: hasChecks(stats) ? describeChecks(stats) : 'None in this period',
    },
    {
      label: 'Median latency',
      value: latency === null ? '–' : formatLatency(latency.p50),
      note: latency === null ? 'No responses' : describeTail(latency),
    },
  ];
  return (
    <SimpleGrid minColWidth={170} autoFlow="auto-fit" spacing="xl" verticalSpacing="md">
      {figures.map(({ label, value, note }) => (
        <dl key={label}>
          <Text component="dt" size="sm" c="dimmed">
            {label}
          </Text>
          <dd>
            <Text fz="1.5rem" fw={600} lh={1.3} className="tabular">
              {value}
            </Text>
            <Quiet size="xs">{note}</Quiet>
          </dd>
        </dl>
      ))}
    </SimpleGrid>
  );
}

function describeTail({ p95, p99 }: NonNullable<MonitorStats['latency']>): string {
  return `p95 ${formatLatency(p95)}, p99 ${formatLatency(p99)}`;
}

interface ChartsProps {
  readonly history: History;
  readonly view: PlotView | 'table';
  readonly onPeriod: OnPeriod;
}

function Charts({ history, view, onPeriod }: ChartsProps): ReactNode {
  const { stats, states } = history;
  const range = describeRange(Date.parse(states.from), Date.parse(states.to));
  if (!hasChecks(stats) && states.knownSeconds === 0)
    return (
      <Center h={HEIGHT}>
        <Quiet size="md">No data {describeFromTo(Date.parse(states.from), Date.parse(states.to))}.</Quiet>
      </Center>
    );
  if (view === 'table') return <HistoryTable stats={stats} label={`History, ${range}`} maxHeight={HEIGHT} />;
  const { latency } = stats;
  const summary =
    latency === null ? 'No responses.' : `Median ${formatLatency(latency.p50)}, ${describeTail(latency)}.`;
  return (
    <>
      <HistoryChart
        history={history}
        view={view}
        label={`${range}. ${summary} The table has all values.`}
        onZoom={onPeriod}
      />
      <Legend stats={stats} states={states} view={view} />
    </>
  );
}
