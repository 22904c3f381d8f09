import type { Timings } from '@tocsin/contracts/monitors/events';
import type { ReactNode } from 'react';
import { formatLatency } from '../../components/format.ts';
import classes from './phases.module.css';
import { PHASES, phaseShares } from './phases.ts';

/** Where the colours of phases are known to what is inside. */
export const phaseColors = classes['phases'] ?? '';

/** @param color the name of a custom property */
export function PhaseSwatch({ color }: { readonly color: string }): ReactNode {
  return <span className={classes['swatch']} style={{ background: `var(${color})` }} aria-hidden />;
}

/** The phases of one check in words; nothing where none took place. */
export function PhaseList({ timings }: { readonly timings: Timings }): ReactNode {
  const took = PHASES.filter(({ phase }) => timings[phase] !== null);
  if (took.length === 0) return null;
  return (
    <dl className={`${phaseColors} ${classes['list'] ?? ''}`}>
      {took.map(({ phase, label, color }) => (
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
  /** What the whole width means. */
  readonly scaleMs: number;
}

/** The phases of one check as a small bar, for the eye alone: `PhaseList` says the same in words. */
export function PhaseBar({ timings, scaleMs }: PhaseBarProps): ReactNode {
  return (
    <div className={`${phaseColors} ${classes['bar'] ?? ''}`} aria-hidden>
      {phaseShares(timings, scaleMs).map(({ phase, color, percent }) => (
        <span key={phase} style={{ width: `${percent}%`, background: `var(${color})` }} />
      ))}
    </div>
  );
}
