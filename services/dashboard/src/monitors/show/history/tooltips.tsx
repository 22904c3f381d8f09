import { Group, Paper, Text } from '@mantine/core';
import type { MonitorStats, StatePeriod } from '@tocsin/contracts/monitors/stats';
import type { ReactNode } from 'react';
import { formatLatency, formatUtc, formatUtcSpan } from '../../../components/format.ts';
import { describeChecks, hasChecks, PERCENTILES } from '../figures.ts';
import { PHASES } from '../phases.ts';
import { PhaseSwatch } from '../phases.tsx';
import classes from './history.module.css';
import { boundsOf } from './latency-plot.tsx';
import { type Axis, describeRange, placeOf } from './period.ts';
import { describeState, stateCause } from './plot-data.ts';

interface TooltipProps {
  readonly axis: Axis;
  /** Start and end in epoch milliseconds. */
  readonly bounds: readonly [number, number];
  readonly title: string;
  readonly children: ReactNode;
}

function Tooltip({ axis, bounds, title, children }: TooltipProps): ReactNode {
  const { left, width } = placeOf(axis, ...bounds);
  const center = left + width / 2;
  return (
    <Paper
      withBorder
      shadow="md"
      radius="sm"
      p="xs"
      fz="xs"
      className={classes['tooltip'] ?? ''}
      data-side={center > 50 ? 'left' : 'right'}
      style={{ left: `${center}%` }}
    >
      <b>{title}</b>
      {children}
    </Paper>
  );
}

interface StateTooltipProps {
  readonly axis: Axis;
  readonly period: StatePeriod;
}

export function StateTooltip({ axis, period }: StateTooltipProps): ReactNode {
  const [from, to] = [Date.parse(period.from), Date.parse(period.to)];
  const cause = stateCause(period);
  return (
    <Tooltip axis={axis} bounds={[from, to]} title={describeState(period)}>
      <div>{describeRange(from, to, true)}</div>
      <Text inherit c="dimmed">
        From {formatUtc(new Date(from))}
      </Text>
      {cause !== null && (
        <Text inherit maw="44ch" style={{ whiteSpace: 'normal', overflowWrap: 'anywhere' }}>
          {cause}
        </Text>
      )}
    </Tooltip>
  );
}

interface BucketTooltipProps {
  readonly axis: Axis;
  readonly stats: MonitorStats;
  readonly bucket: MonitorStats['series'][number];
}

/** Figures of the bucket under the pointer. For screen readers, the table has the same data. */
export function BucketTooltip({ axis, stats, bucket }: BucketTooltipProps): ReactNode {
  const { timings, latency } = bucket;
  const [from, to] = boundsOf(bucket, stats);
  return (
    <Tooltip axis={axis} bounds={[from, to]} title={describeRange(from, to)}>
      <Text inherit c="dimmed">
        {formatUtcSpan(new Date(from), new Date(to))}
      </Text>
      <div>{hasChecks(bucket) ? describeChecks(bucket) : 'No checks'}</div>
      {latency && (
        <div>{PERCENTILES.map((name) => `${name} ${formatLatency(latency[name])}`).join(' · ')}</div>
      )}
      {timings &&
        PHASES.map(({ phase, label, color }) => (
          <Group key={phase} gap={6}>
            <PhaseSwatch color={color} /> {label}
            <Text inherit ml="auto">
              {formatLatency(timings[phase])}
            </Text>
          </Group>
        ))}
    </Tooltip>
  );
}
