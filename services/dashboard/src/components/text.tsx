import { Anchor, type AnchorProps, Text, type TextProps, VisuallyHidden } from '@mantine/core';
import {
  type Icon,
  IconCircleCheckFilled,
  IconClockExclamation,
  IconClockPause,
  IconExternalLink,
  IconHelpHexagon,
  IconPlayerPause,
  IconProgress,
  IconSquareRoundedXFilled,
} from '@tabler/icons-react';
import { createLink } from '@tanstack/react-router';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import type { CheckStatus } from '@tocsin/contracts/vocabulary';
import { type ComponentPropsWithRef, type ReactNode, useEffect, useState } from 'react';
import type { ShownStatus } from '../monitors/shown-status.ts';
import classes from './text.module.css';
import {
  formatAgo,
  formatClock,
  formatLocal,
  formatRowClock,
  formatSpan,
  formatTime,
  formatUtc,
} from './format.ts';

interface QuietProps extends TextProps {
  readonly children: ReactNode;
  /** Renders a `span` instead of a paragraph. */
  readonly inline?: boolean;
  readonly title?: string;
}

/** Small, quiet text for notes, hints and missing values. */
export function Quiet({ inline = false, ...props }: QuietProps): ReactNode {
  return <Text size="sm" c="var(--text-quiet)" component={inline ? 'span' : 'p'} {...props} />;
}

type Props = AnchorProps & Omit<ComponentPropsWithRef<'a'>, keyof AnchorProps>;

/** A type-safe link to a page of the dashboard. Inherits the text size by default. */
export const TextLink = createLink(function TextAnchor(props: Props): ReactNode {
  return <Anchor inherit={props.size === undefined} {...props} />;
});

/** A link to another site that opens in a new tab. */
export function ExternalLink(props: { readonly href: string; readonly children: ReactNode }): ReactNode {
  return (
    <Anchor href={props.href} target="_blank" rel="noreferrer" size="sm" style={{ overflowWrap: 'anywhere' }}>
      {props.children} <IconExternalLink size={14} style={{ verticalAlign: -2 }} aria-hidden />
      <VisuallyHidden>(opens in a new tab)</VisuallyHidden>
    </Anchor>
  );
}

/**
 * `ago`: "5 min ago". `for`: the duration since then. `clock`: the time of day, with the date unless it is today. `row` and `time` have no
 * zone, and `time` has no date either.
 */
const FORMATS = {
  ago: formatAgo,
  for: (date: Date, now: number) => formatSpan((now - date.getTime()) / 1_000),
  clock: formatClock,
  row: formatRowClock,
  local: formatLocal,
  time: formatTime,
};

interface TimeProps {
  /** ISO 8601. */
  readonly value: string;
  readonly as?: keyof typeof FORMATS;
}

/** A time in the user's time zone, with UTC on hover. */
export function Time({ value, as = 'local' }: TimeProps): ReactNode {
  const now = useNow(as !== 'local' && as !== 'time');
  const date = new Date(value);
  return (
    <time dateTime={value} title={`${formatLocal(date)} · ${formatUtc(date)}`} className="tabular">
      {FORMATS[as](date, now)}
    </time>
  );
}

const TICK_MS = 10_000;
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
    }, TICK_MS);
    return () => {
      listeners.delete(setNow);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, [running]);
  return now;
}

export const TONES = {
  good: 'var(--status-up)',
  bad: 'var(--status-down)',
  quiet: 'var(--status-pending)',
  maintenance: 'var(--status-maintenance)',
  plain: 'inherit',
} as const;

export interface StateLook {
  readonly label: string;
  readonly icon: Icon;
  readonly tone: keyof typeof TONES;
}

/** Shows a state by icon and label, so that color is not the only sign. */
export function StateBadge({ look: { label, icon: Icon, tone } }: { readonly look: StateLook }): ReactNode {
  return (
    <span className={classes['badge']} style={{ color: TONES[tone] }}>
      <Icon size={16} aria-hidden />
      {label}
    </span>
  );
}

const LOOKS: Readonly<Record<ShownStatus | CheckStatus, StateLook>> = {
  UP: { label: 'Up', icon: IconCircleCheckFilled, tone: 'good' },
  DOWN: { label: 'Down', icon: IconSquareRoundedXFilled, tone: 'bad' },
  PENDING: { label: 'Pending', icon: IconProgress, tone: 'quiet' },
  MAINTENANCE: { label: 'Maintenance', icon: IconClockPause, tone: 'maintenance' },
  PAUSED: { label: 'Paused', icon: IconPlayerPause, tone: 'quiet' },
};

const NO_RESULT: StateLook = { label: 'No result', icon: IconClockExclamation, tone: 'quiet' };

const FAILING: StateLook = { ...LOOKS.MAINTENANCE, label: 'Maintenance · failing now', tone: 'bad' };

interface StatusBadgeProps {
  readonly status: ShownStatus | CheckStatus;
  /** True if the monitor would be down without maintenance. */
  readonly isFailing?: boolean | undefined;
  /** True if the status may be outdated. A good status is not shown then. */
  readonly isStale?: boolean;
}

export function StatusBadge({ status, isFailing = false, isStale = false }: StatusBadgeProps): ReactNode {
  if (isStale && status === 'UP') return <StateBadge look={NO_RESULT} />;
  const isHidden = isFailing && !isStale && status === 'MAINTENANCE';
  return <StateBadge look={isHidden ? FAILING : LOOKS[status]} />;
}

interface StatusAgeProps {
  readonly monitor: Pick<MonitorOverview, 'status' | 'statusSince' | 'lastCheckedAt'>;
  readonly isStale: boolean;
}

/** Shows for how long a monitor has had its status, or no result if the status may be outdated. */
export function StatusAge({ monitor, isStale }: StatusAgeProps): ReactNode {
  const { status, statusSince, lastCheckedAt } = monitor;
  if (!isStale || lastCheckedAt === null) return <Time value={statusSince} as="for" />;
  return (
    <>
      {status === 'UP' ? 'for' : 'no result for'} <Time value={lastCheckedAt} as="for" />
    </>
  );
}

const INCONCLUSIVE: StateLook = { label: 'Inconclusive', icon: IconHelpHexagon, tone: 'quiet' };

/** The result of a check. An inconclusive check is neither up nor down. */
export function CheckBadge({ check }: { check: Pick<Event, 'status' | 'inconclusive'> }): ReactNode {
  return <StateBadge look={check.inconclusive ? INCONCLUSIVE : LOOKS[check.status]} />;
}
