import type { Timings } from '@tocsin/contracts/monitors/events';
import type { ReactNode } from 'react';
import { formatLatency } from '../../components/format.ts';
import classes from './phases.module.css';
import { PHASES, phaseShares } from './phases.ts';

/** The class that defines the colors of the phases for its descendants. */
export const phaseColors = classes['phases'] ?? '';

/** @param color the name of a custom property */
export function PhaseSwatch({ color }: { readonly color: string }): ReactNode {
  return <span className={classes['swatch']} style={{ background: `var(${color})` }} aria-hidden />;
}

/** The durations of the phases that took place. */
export function PhaseList({ timings }: { readonly timings: Timings }): ReactNode {
  const phases = PHASES.filter(({ phase }) => timings[phase] !== null);
  if (phases.length === 0) return null;
  return (
    <dl className={`${phaseColors} ${classes['list'] ?? ''}`}>
      {phases.map(({ phase, label, color }) => (
        <div key={phase}>
          <PhaseSwatch color={color} />
          <dt>{label}</dt>
          <dd>{formatLatency(timings[phase] ?? 0)}</dd>
        </div>
      ))}
    </dl>
  );
}

interface PhaseBarProps {
  readonly timings: Timings;
  /** The duration of the full width. */
  readonly scaleMs: number;
}

/** The phases of a check as a small bar. It is hidden from screen readers: `PhaseList` has the same data. */
export function PhaseBar({ timings, scaleMs }: PhaseBarProps): ReactNode {
  return (
    <div className={`${phaseColors} ${classes['bar'] ?? ''}`} aria-hidden>
      {phaseShares(timings, scaleMs).map(({ phase, color, percent }) => (
        <span key={phase} style={{ width: `${percent}%`, background: `var(${color})` }} />
      ))}
    </div>
  );
}
