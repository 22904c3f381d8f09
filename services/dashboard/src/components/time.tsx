import { type ReactNode, useEffect, useState } from 'react';
import { formatAgo, formatClock, formatLocal, formatSpan, formatUtc } from './format.ts';

interface TimeProps {
  /** ISO 8601. */
  readonly value: string;
  /**
   * `ago` shows "5 min ago", `for` the duration since then ("5 min 20 s"), `local` date and time, and `clock` the time of day with the date
   * unless it is today.
   */
  readonly as?: 'ago' | 'for' | 'local' | 'clock';
}

/** A moment in the reader's time zone, with UTC on hover. */
export function Time({ value, as = 'local' }: TimeProps): ReactNode {
  const now = useNow(as !== 'local');
  const date = new Date(value);
  return (
    <time dateTime={value} title={`${formatLocal(date)} · ${formatUtc(date)}`} className="tabular">
      {format(date, as, now)}
    </time>
  );
}

function format(date: Date, as: 'ago' | 'for' | 'local' | 'clock', now: number): string {
  if (as === 'local') return formatLocal(date);
  if (as === 'clock') return formatClock(date, now);
  return as === 'ago' ? formatAgo(date, now) : formatSpan((now - date.getTime()) / 1_000);
}

const EVERY_MS = 10_000;
const listeners = new Set<(now: number) => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** The current time in epoch milliseconds, updated every 10 s. All components share one timer. */
export function useNow(running = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!running) return undefined;
    listeners.add(setNow);
    timer ??= setInterval(() => {
      for (const listener of listeners) listener(Date.now());
    }, EVERY_MS);
    return () => {
      listeners.delete(setNow);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, [running]);
  return now;
}
