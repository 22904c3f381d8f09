import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { MonitorRegion } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { Panel, ScrollRegion } from '../../components/page.tsx';
import { Time } from '../../components/text.tsx';
import { useUnservedRegions } from '../../regions/regions.ts';
import { monitorHistoryQuery } from '../queries.ts';
import {
  countColumns,
  describeRegion,
  formatCounts,
  formatPercentiles,
  joinRegions,
  PERCENTILES,
  type RegionRow,
} from './figures.ts';
import type { PeriodChoice } from './history/period.ts';
import classes from './show.module.css';

interface RegionsPanelProps {
  readonly monitor: Monitor;
  readonly period: PeriodChoice;
}

/** The state and the statistics of a monitor in each region, from the response that the charts show. */
export function RegionsPanel({ monitor: { id, url }, period }: RegionsPanelProps): ReactNode {
  const { data: history, error } = useQuery(monitorHistoryQuery(id, period));
  const title = 'Regions';
  // The history shows the error.
  if (history === undefined) return <Panel title={title}>{error === null && <Skeleton height={72} />}</Panel>;
  const { regions, current } = history.stats;
  const rows = joinRegions(regions, current);
  return (
    <Panel title={title}>
      <ScrollRegion label={title}>
        <RegionsTable rows={rows} withCertificates={/^https:/i.test(url)} />
      </ScrollRegion>
    </Panel>
  );
}

interface RegionsTableProps {
  readonly rows: readonly RegionRow[];
  readonly withCertificates: boolean;
}

function RegionsTable({ rows, withCertificates }: RegionsTableProps): ReactNode {
  const counts = countColumns(rows.map(({ figures }) => figures));
  const columns = [...counts, ...PERCENTILES];
  return (
    <table className={classes['table']}>
      <thead>
        <tr>
          <th scope="col">Region</th>
          <th scope="col">Now</th>
          {columns.map((title) => (
            <th key={title} scope="col" className={classes['number']}>
              {title}
            </th>
          ))}
          <th scope="col">Last check</th>
          {withCertificates && <th scope="col">Certificate expires</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ region, figures, current }) => (
          <tr key={region}>
            <th scope="row">{region}</th>
            <td>{current ? <CurrentState region={current} /> : 'Not assigned'}</td>
            {[...formatCounts(figures, counts), ...formatPercentiles(figures)].map((text, index) => (
              <td key={columns[index]} className={classes['number']}>
                {text}
              </td>
            ))}
            <td>{current?.lastCheckedAt ? <Time value={current.lastCheckedAt} as="ago" /> : '–'}</td>
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
  const isUnserved = useUnservedRegions().includes(region.region);
  const isFailing = region.eligible && (region.failing || region.consecutiveFailures > 0);
  return (
    <span className={classes[isFailing || isUnserved ? 'bad' : 'good']}>
      {isUnserved ? 'No checker' : describeRegion(region)}
    </span>
  );
}
