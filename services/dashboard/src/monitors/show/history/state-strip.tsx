import type { StatePeriod } from '@tocsin/contracts/monitors/stats';
import { memo, type ReactNode } from 'react';
import { formatUtc } from '../../../components/format.ts';
import { type Axis, describeRange, placeOf } from './period.ts';
import { describeState, stateCause } from './plot-data.ts';
import classes from './history.module.css';

interface StateStripProps {
  readonly axis: Axis;
  readonly periods: readonly StatePeriod[];
  /** Index of the period under the pointer or with the focus, or null. */
  readonly chosen: number | null;
}

/** Statuses over time as a band. Outages are at least 2 pixels wide, so that they are always visible. */
export const StateStrip = memo(function StateStrip({ axis, periods, chosen }: StateStripProps): ReactNode {
  return (
    <div className={classes['strip']} data-testid="states">
      {periods.map(({ status, from, to }, index) => {
        const { left, width } = placeOf(axis, Date.parse(from), Date.parse(to));
        return (
          <span
            key={from}
            data-status={status ?? 'NONE'}
            data-chosen={index === chosen}
            style={{ left: `min(${left}%, 100% - 2px)`, width: `${width}%` }}
          />
        );
      })}
    </div>
  );
});

interface StateTooltipProps {
  readonly axis: Axis;
  readonly period: StatePeriod;
}

export function StateTooltip({ axis, period }: StateTooltipProps): ReactNode {
  const [from, to] = [Date.parse(period.from), Date.parse(period.to)];
  const { left, width } = placeOf(axis, from, to);
  const center = left + width / 2;
  const cause = stateCause(period);
  return (
    <div
      className={classes['tooltip']}
      data-side={center > 50 ? 'left' : 'right'}
      style={{ left: `${center}%` }}
    >
      <div className={classes['tooltipTitle']}>{describeState(period)}</div>
      <div>{describeRange(from, to, true)}</div>
      <div className={classes['quiet']}>From {formatUtc(new Date(from))}</div>
      {cause !== null && <div className={classes['cause']}>{cause}</div>}
    </div>
  );
}
