import type { ReactNode } from 'react';
import { formatLocal, formatUtc } from '../components/format-time.ts';

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

interface ClockTimeProps {
  /** ISO 8601. */
  readonly value: string;
  /** The time whose day is said already; the day is said too where it is another. */
  readonly from?: string;
}

/** A time of a day that a heading names; all of it and UTC on hover. */
export function ClockTime({ value, from = value }: ClockTimeProps): ReactNode {
  const date = new Date(value);
  const isSameDay = date.toDateString() === new Date(from).toDateString();
  return (
    <time dateTime={value} title={`${formatLocal(date)} · ${formatUtc(date)}`}>
      {(isSameDay ? TIME : DAY_AND_TIME).format(date)}
    </time>
  );
}
