import type { StatePeriod } from '@tocsin/contracts/monitors/stats';
import { memo, type ReactNode } from 'react';
import { type Axis, placeOf } from './period.ts';
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
