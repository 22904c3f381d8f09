import type { ReactNode } from 'react';
import type { History } from '../../queries.ts';
import { PERCENTILES } from '../figures.ts';
import { PHASES } from '../phases.ts';
import { phaseColors, PhaseSwatch } from '../phases.tsx';
import classes from './history.module.css';
import type { PlotView } from './plot-data.ts';

const STATES = [
  ['UP', 'Up'],
  ['DOWN', 'Down'],
  ['MAINTENANCE', 'Maintenance'],
  ['PENDING', 'Pending'],
  ['NONE', 'No data'],
] as const;

/** Explains the colors of the charts. Lists only statuses and marks that occur. */
export function Legend({ stats, states, view }: History & { readonly view: PlotView }): ReactNode {
  const shown = new Set(states.periods.map(({ status }) => status ?? 'NONE'));
  const has = (mark: 'failures' | 'gaps' | 'inconclusive'): boolean => stats[mark] > 0;
  return (
    <ul className={`plain-list ${phaseColors} ${classes['legend'] ?? ''}`} aria-label="Legend">
      {STATES.filter(([status]) => shown.has(status)).map(([status, label]) => (
        <li key={status}>
          <span className={classes['state']} data-status={status} aria-hidden />
          {label}
        </li>
      ))}
      {view === 'phases'
        ? PHASES.map(({ phase, label, color }) => (
            <li key={phase}>
              <PhaseSwatch color={color} />
              {label}
            </li>
          ))
        : PERCENTILES.map((name) => (
            <li key={name}>
              <span data-percentile={name} aria-hidden />
              {name}
            </li>
          ))}
      {has('failures') && (
        <li>
          <span className={classes['failure']} aria-hidden />
          Failed checks
        </li>
      )}
      {has('gaps') && (
        <li>
          <span className={classes['gap']} aria-hidden />
          Missed checks
        </li>
      )}
      {has('inconclusive') && (
        <li>
          <span className={classes['inconclusive']} aria-hidden />
          Inconclusive: region without network
        </li>
      )}
    </ul>
  );
}
