import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { MonitorRegion } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { StatsWindow } from '@tocsin/contracts/monitors/stats';
import type { ReactNode } from 'react';
import { formatLatency } from '../../components/format.ts';
import { FailureNotice, useFailure } from '../../components/load-states.tsx';
import { Panel, ScrollRegion } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { monitorRegionsQuery, monitorStatsQuery } from '../queries.ts';
import {
  describeRegion,
  formatCount,
  formatUptime,
  joinRegions,
  type RegionRow,
  WINDOW_NAMES,
} from './figures.ts';
import classes from './show.module.css';

interface RegionsPanelProps {
  readonly monitor: Monitor;
  readonly window: StatsWindow;
}

/** How the monitor is and was as each region sees it. */
export function RegionsPanel({ monitor: { id, url }, window }: RegionsPanelProps): ReactNode {
  const stats = useQuery(monitorStatsQuery(id, window));
  const now = useQuery(monitorRegionsQuery(id));
  const title = `Regions, last ${WINDOW_NAMES[window]}`;
  const [withoutStats, withoutNow] = [useFailure(stats), useFailure(now)];
  // What the statistics cannot say is said where the chart would be.
  if (stats.data === undefined || (now.data === undefined && withoutNow === null))
    return <Panel title={title}>{withoutStats === null && <Skeleton height={72} />}</Panel>;
  const views = now.data ?? null;
  return (
    <Panel title={title}>
      <FailureNotice query={now} />
      <Regions
        rows={joinRegions(stats.data.regions, views ?? [])}
        label={title}
        withNow={views !== null}
        withCertificates={/^https:/i.test(url)}
      />
    </Panel>
  );
}

interface RegionsProps extends RegionsTableProps {
  readonly label: string;
}

function Regions({ label, ...table }: RegionsProps): ReactNode {
  if (table.rows.length === 0)
    return (
      <Text size="sm" c="var(--text-quiet)">
        No region has checked it yet.
      </Text>
    );
  return (
    <ScrollRegion label={label}>
      <RegionsTable {...table} />
    </ScrollRegion>
  );
}

interface RegionsTableProps {
  readonly rows: readonly RegionRow[];
  readonly withNow: boolean;
  readonly withCertificates: boolean;
}

const NUMBERS = ['Uptime', 'Checks', 'Failed', 'Gaps', 'p50', 'p95', 'p99'] as const;

function RegionsTable({ rows, withNow, withCertificates }: RegionsTableProps): ReactNode {
  return (
    <table className={classes['table']}>
      <thead>
        <tr>
          <th scope="col">Region</th>
          {withNow && <th scope="col">Now</th>}
          {NUMBERS.map((head) => (
            <th key={head} scope="col" className={classes['number']}>
              {head}
            </th>
          ))}
          {withNow && <th scope="col">Last check</th>}
          {withNow && withCertificates && <th scope="col">Certificate until</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.region}>
            <th scope="row">{row.region}</th>
            {withNow && <td>{row.now ? <Now region={row.now} /> : 'Not assigned'}</td>}
            {figuresOf(row).map((text, index) => (
              <td key={NUMBERS[index]} className={classes['number']}>
                {text}
              </td>
            ))}
            {withNow && (
              <td>{row.now?.lastCheckedAt ? <Time value={row.now.lastCheckedAt} as="ago" /> : '–'}</td>
            )}
            {withNow && withCertificates && (
              <td>{row.now?.certificateExpiresAt ? <Time value={row.now.certificateExpiresAt} /> : '–'}</td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Now({ region }: { readonly region: MonitorRegion }): ReactNode {
  const look = region.hasSay && region.consecutiveFailures > 0 ? 'bad' : 'good';
  return <span className={classes[look]}>{describeRegion(region)}</span>;
}

/** In the order of `NUMBERS`. */
function figuresOf({ figures }: RegionRow): string[] {
  if (figures === null) return NUMBERS.map(() => '–');
  const { uptime, checks, failures, gaps, latency } = figures;
  return [
    uptime === null ? '–' : formatUptime(uptime),
    formatCount(checks),
    formatCount(failures),
    formatCount(gaps),
    ...(['p50', 'p95', 'p99'] as const).map((name) =>
      latency === null ? '–' : formatLatency(latency[name]),
    ),
  ];
}
