import type { ReactNode } from 'react';
import { PHASES } from '../phases.ts';
import { phaseColors, PhaseSwatch } from '../phases.tsx';
import classes from './chart.module.css';

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
