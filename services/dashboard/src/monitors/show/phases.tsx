import { Group, Text } from '@mantine/core';
import type { Event, Timings } from '@tocsin/contracts/monitors/events';
import type { ReactNode } from 'react';
import { formatLatency } from '../../components/format.ts';
import { CheckBadge } from '../../components/text.tsx';
import classes from './phases.module.css';
import { PHASES, phaseShares } from './phases.ts';

/** Defines the colors of the phases for descendants. */
export const phaseColors = classes['phases'] ?? '';

/** @param color name of a CSS custom property */
export function PhaseSwatch({ color }: { readonly color: string }): ReactNode {
  return <span className={classes['swatch']} style={{ background: `var(${color})` }} aria-hidden />;
}

/** Durations of the phases that took place. */
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

interface CheckFiguresProps {
  readonly check: Pick<Event, 'status' | 'inconclusive' | 'statusCode' | 'latency'>;
  readonly children?: ReactNode;
}

/** The result, the status code and the latency of a check in one line. */
export function CheckFigures({ check, children }: CheckFiguresProps): ReactNode {
  const { statusCode, latency } = check;
  return (
    <Group gap="md">
      <CheckBadge check={check} />
      {statusCode !== null && <Text size="sm">HTTP {statusCode}</Text>}
      {latency > 0 && (
        <Text size="sm" className="tabular">
          {formatLatency(latency)}
        </Text>
      )}
      {children}
    </Group>
  );
}

/**
 * The phases of a check as a small bar, hidden from screen readers because `PhaseList` has the same data.
 * @param props.scaleMs duration of the full width
 */
export function PhaseBar({ timings, scaleMs }: { timings: Timings; scaleMs: number }): ReactNode {
  return (
    <div className={`${phaseColors} ${classes['bar'] ?? ''}`} aria-hidden>
      {phaseShares(timings, scaleMs).map(({ phase, color, percent }) => (
        <span key={phase} style={{ width: `${percent}%`, background: `var(${color})` }} />
      ))}
    </div>
  );
}
