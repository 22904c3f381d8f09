import { ActionIcon } from '@mantine/core';
import { IconBolt, IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import type { Event } from '@tocsin/contracts/monitors/events';
import { memo, type ReactNode, useId } from 'react';
import { describeCause } from '../../../components/describe-cause.ts';
import { formatLatency } from '../../../components/format-latency.ts';
import { StatusBadge } from '../../../components/status-badge.tsx';
import { Time } from '../../../components/time.tsx';
import { PhaseBar } from '../phases.tsx';
import classes from '../show.module.css';
import { EventDetail } from './event-detail.tsx';
import tailClasses from './tail.module.css';

interface EventRowProps {
  readonly event: Event;
  readonly scaleMs: number;
  readonly opened: boolean;
  readonly onToggle: (id: string) => void;
}

/** One event; its details below, where they are asked for. Rendered again only where something of it changed. */
export const EventRow = memo(function EventRow(props: EventRowProps): ReactNode {
  const { event, scaleMs, opened, onToggle } = props;
  const { id, timestamp, status, statusCode, latency, errorReason, region, timings } = event;
  const detailId = useId();
  const Chevron = opened ? IconChevronDown : IconChevronRight;
  return (
    <>
      <tr data-status={status} data-opened={opened}>
        <td>
          <Time value={timestamp} as="clock" />
        </td>
        <td>
          <StatusBadge status={status} />
          <SourceMark event={event} />
          {errorReason !== null && (
            <div className={tailClasses['reason']} title={errorReason}>
              {describeCause(errorReason)}
            </div>
          )}
          {event.url !== null && <div className={tailClasses['reason']}>{event.url}</div>}
        </td>
        <td>{statusCode ?? '–'}</td>
        <td className={classes['number']}>{latency === 0 ? '–' : formatLatency(latency)}</td>
        <td className={tailClasses['wide']}>
          <PhaseBar timings={timings} scaleMs={scaleMs} />
        </td>
        <td className={tailClasses['wide']}>{region}</td>
        <td>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label="Details"
            aria-expanded={opened}
            {...(opened && { 'aria-controls': detailId })}
            onClick={() => onToggle(id)}
          >
            <Chevron size={16} aria-hidden />
          </ActionIcon>
        </td>
      </tr>
      {opened && (
        <tr id={detailId}>
          <td colSpan={7} className={tailClasses['detail']}>
            <EventDetail event={event} />
          </td>
        </tr>
      )}
    </>
  );
});

/** Marks what no schedule asked for. */
function SourceMark({ event: { source, url } }: { readonly event: Event }): ReactNode {
  if (source === 'schedule') return null;
  return (
    <span className={tailClasses['mark']}>
      <IconBolt size={12} aria-hidden />
      {url === null ? 'Triggered' : 'Other URL'}
    </span>
  );
}
