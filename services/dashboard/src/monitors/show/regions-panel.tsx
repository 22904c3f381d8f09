import { Skeleton, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { MonitorRegion } from '@tocsin/contracts/monitors/events';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { DataTable } from '../../components/data-table.tsx';
import { Panel, ScrollRegion } from '../../components/page.tsx';
import { Time } from '../../components/text.tsx';
import { useUnservedRegions } from '../../regions/regions.ts';
import { monitorHistoryQuery } from '../queries.ts';
import { describeRegion, figureColumns, joinRegions, type RegionRow } from './figures.ts';
import type { PeriodChoice } from './history/period.ts';

interface RegionsPanelProps {
  readonly monitor: Monitor;
  readonly period: PeriodChoice;
}

/** Shows a monitor's state and statistics in each region, from the response that the charts show. */
export function RegionsPanel({ monitor: { id, url }, period }: RegionsPanelProps): ReactNode {
  const { data: history, error } = useQuery(monitorHistoryQuery(id, period));
  const title = 'Regions';
  // The history shows the error.
  if (history === undefined) return <Panel title={title}>{error === null && <Skeleton height={72} />}</Panel>;
  const { regions, current } = history.stats;
  const rows = joinRegions(regions, current);
  const figures = figureColumns(rows, (row) => row.figures);
  return (
    <Panel title={title}>
      <ScrollRegion label={title}>
        <DataTable
          label={title}
          rows={rows}
          rowKey={({ region }) => region}
          numbers={Object.keys(figures)}
          columns={{
            Region: ({ region }) => region,
            Now: ({ current: now }) => (now ? <CurrentState region={now} /> : 'Not assigned'),
            ...figures,
            'Last check': ({ current: now }) => <At time={now?.lastCheckedAt} as="ago" />,
            ...(/^https:/i.test(url) && {
              'Certificate expires': ({ current: now }: RegionRow) => <At time={now?.certificateExpiresAt} />,
            }),
          }}
        />
      </ScrollRegion>
    </Panel>
  );
}

interface AtProps {
  /** ISO 8601, or nothing if there is no time. */
  readonly time: string | null | undefined;
  readonly as?: 'ago';
}

function At({ time, ...props }: AtProps): ReactNode {
  return time ? <Time value={time} {...props} /> : '–';
}

function CurrentState({ region }: { readonly region: MonitorRegion }): ReactNode {
  const isUnserved = useUnservedRegions().includes(region.region);
  const isFailing = region.eligible && (region.failing || region.consecutiveFailures > 0);
  return (
    <Text span inherit {...((isFailing || isUnserved) && { c: 'var(--status-down)' })}>
      {isUnserved ? 'Not checked' : describeRegion(region)}
    </Text>
  );
}
