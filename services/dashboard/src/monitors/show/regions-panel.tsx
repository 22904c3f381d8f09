import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { MonitorRegion } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { StatsWindow } from '@tocsin/contracts/monitors/stats';
import type { ReactNode } from 'react';
import { FailureNotice, useFailure } from '../../components/load-states.tsx';
import { Panel, ScrollRegion } from '../../components/page.tsx';
import { Quiet, Time } from '../../components/text.tsx';
import { monitorRegionsQuery, monitorStatsQuery } from '../queries.ts';
import {
  describeRegion,
  countColumns,
  formatCounts,
  formatPercentiles,
  joinRegions,
  PERCENTILES,
  type RegionRow,
  WINDOW_NAMES,
} from './figures.ts';
import classes from './show.module.css';

interface RegionsPanelProps {
  readonly monitor: Monitor;
  readonly window: StatsWindow;
}

/** The state and the statistics of a monitor in each region. */
export function RegionsPanel({ monitor: { id, url }, window }: RegionsPanelProps): ReactNode {
  const stats = useQuery(monitorStatsQuery(id, window));
  const current = useQuery(monitorRegionsQuery(id));
  const title = `Regions, last ${WINDOW_NAMES[window]}`;
  const [statsFailure, currentFailure] = [useFailure(stats), useFailure(current)];
  // The latency panel shows the error of the statistics.
  if (stats.data === undefined || (current.data === undefined && currentFailure === null))
    return <Panel title={title}>{statsFailure === null && <Skeleton height={72} />}</Panel>;
  const regions = current.data ?? null;
  const rows = joinRegions(stats.data.regions, regions ?? []);
  return (
    <Panel title={title}>
      <FailureNotice query={current} />
      {rows.length === 0 ? (
        <Quiet>Not checked yet.</Quiet>
      ) : (
        <ScrollRegion label={title}>
          <RegionsTable
            rows={rows}
            withCurrent={regions !== null}
            withCertificates={regions !== null && /^https:/i.test(url)}
          />
        </ScrollRegion>
      )}
    </Panel>
  );
}

interface RegionsTableProps {
  readonly rows: readonly RegionRow[];
  readonly withCurrent: boolean;
  readonly withCertificates: boolean;
}

function RegionsTable({ rows, withCurrent, withCertificates }: RegionsTableProps): ReactNode {
  const counts = countColumns(rows.map(({ figures }) => figures));
  const columns = [...counts, ...PERCENTILES];
  return (
    <table className={classes['table']}>
      <thead>
        <tr>
          <th scope="col">Region</th>
          {withCurrent && <th scope="col">Now</th>}
          {columns.map((title) => (
            <th key={title} scope="col" className={classes['number']}>
              {title}
            </th>
          ))}
          {withCurrent && <th scope="col">Last check</th>}
          {withCertificates && <th scope="col">Certificate expires</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ region, figures, current }) => (
          <tr key={region}>
            <th scope="row">{region}</th>
            {withCurrent && <td>{current ? <CurrentState region={current} /> : 'Not assigned'}</td>}
            {[...formatCounts(figures, counts), ...formatPercentiles(figures)].map((text, index) => (
              <td key={columns[index]} className={classes['number']}>
                {text}
              </td>
            ))}
            {withCurrent && (
              <td>{current?.lastCheckedAt ? <Time value={current.lastCheckedAt} as="ago" /> : '–'}</td>
            )}
            {withCertificates && (
              <td>{current?.certificateExpiresAt ? <Time value={current.certificateExpiresAt} /> : '–'}</td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function CurrentState({ region }: { readonly region: MonitorRegion }): ReactNode {
  const isFailing = region.eligible && (region.failing || region.consecutiveFailures > 0);
  return <span className={classes[isFailing ? 'bad' : 'good']}>{describeRegion(region)}</span>;
}
