import type { ReactNode } from 'react';
import { formatUtc } from '../components/format-time.ts';
import { formatMoment } from './format-moment.ts';

interface MomentProps {
  /** ISO 8601. */
  readonly value: string;
  readonly zone: string;
}

/** A moment by the clocks of a zone; UTC on hover. */
export function Moment({ value, zone }: MomentProps): ReactNode {
  return (
    <time dateTime={value} title={formatUtc(new Date(value))}>
      {formatMoment(value, zone)}
    </time>
  );
}
