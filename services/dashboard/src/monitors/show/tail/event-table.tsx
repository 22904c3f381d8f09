import { ActionIcon, Stack, VisuallyHidden } from '@mantine/core';
import { IconBolt, IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import type { Event } from '@tocsin/contracts/monitors/events';
import { memo, type ReactNode, useCallback, useId, useState } from 'react';
import { describeCause, formatLatency } from '../../../components/format.ts';
import { ScrollRegion } from '../../../components/page.tsx';
import { CheckBadge, Time } from '../../../components/text.tsx';
import { barScale } from '../phases.ts';
import { PhaseBar, PhaseList } from '../phases.tsx';
import classes from '../show.module.css';
import { KeptResponse } from './kept-response.tsx';
import tailClasses from './tail.module.css';

interface EventTableProps {
  readonly events: readonly Event[];
  readonly label: string;
  readonly maxHeight: number;
}

export function EventTable({ events, label, maxHeight }: EventTableProps): ReactNode {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback(
    (id: string) =>
      setOpened((before) => {
        const after = new Set(before);
        if (!after.delete(id)) after.add(id);
        return after;
      }),
    [],
  );
  const scaleMs = barScale(Math.max(...events.map(({ latency }) => latency)));
  return (
    <ScrollRegion label={label} maxHeight={maxHeight}>
      <table className={`${classes['table'] ?? ''} ${tailClasses['table'] ?? ''}`}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Result</th>
            <th scope="col">Code</th>
            <th scope="col" className={classes['number']}>
              Latency
            </th>
            <th scope="col" className={tailClasses['wide']}>
              Phases
            </th>
            <th scope="col" className={tailClasses['wide']}>
              Region
            </th>
            <th scope="col">
              <VisuallyHidden>Details</VisuallyHidden>
            </th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <EventRow
              key={event.id}
              event={event}
              scaleMs={scaleMs}
              opened={opened.has(event.id)}
              onToggle={toggle}
            />
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

interface EventRowProps {
  readonly event: Event;
  readonly scaleMs: number;
  readonly opened: boolean;
  readonly onToggle: (id: string) => void;
}

/** Memoized, because every new event rerenders the table. */
const EventRow = memo(function EventRow({ event, scaleMs, opened, onToggle }: EventRowProps): ReactNode {
  const { id, timestamp, status, inconclusive, statusCode, latency } = event;
  const { errorReason, errorDetail, region, source, url, timings } = event;
  const detailId = useId();
  const Chevron = opened ? IconChevronDown : IconChevronRight;
  return (
    <>
      <tr data-status={inconclusive ? 'INCONCLUSIVE' : status} data-opened={opened}>
        <td>
          <Time value={timestamp} as="clock" />
        </td>
        <td>
          <CheckBadge check={event} />
          {source === 'trigger' && (
            <span className={tailClasses['mark']}>
              <IconBolt size={12} aria-hidden />
              {url === null ? 'Triggered' : 'Other URL'}
            </span>
          )}
          {errorReason !== null && (
            <div className={tailClasses['reason']} title={describeCause(errorReason, errorDetail)}>
              {describeCause(errorReason, errorDetail)}
            </div>
          )}
          {url !== null && <div className={tailClasses['reason']}>{url}</div>}
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

function EventDetail({ event }: { readonly event: Event }): ReactNode {
  const { timestamp, url, region, source, timings } = event;
  return (
    <Stack gap={8}>
      <EventError event={event} />
      {event.hasResponse && <KeptResponse event={event} />}
      {url !== null && (
        <div className={tailClasses['text']}>
          Checked <b>{url}</b> instead of the monitor’s URL. The status did not change.
        </div>
      )}
      <PhaseList timings={timings} />
      <div className={tailClasses['facts']}>
        <Time value={timestamp} /> · from {region} · {source === 'trigger' ? 'triggered' : 'scheduled'}
      </div>
    </Stack>
  );
}

interface EventErrorProps {
  readonly event: Pick<Event, 'errorReason' | 'errorDetail' | 'inconclusive' | 'region'>;
}

/** Explains why a check failed, and if it counts. Renders nothing if the check passed. */
export function EventError({ event }: EventErrorProps): ReactNode {
  const { errorReason, errorDetail, inconclusive, region } = event;
  if (errorReason === null) return null;
  return (
    <>
      <div className={tailClasses['text']}>
        <b>{describeCause(errorReason, errorDetail)}</b>{' '}
        <code className={classes['quiet']}>{errorReason}</code>
      </div>
      {inconclusive && (
        <div className={tailClasses['text']}>
          The checker in {region} or its network failed. The result counts for no status and no statistics.
        </div>
      )}
    </>
  );
}
