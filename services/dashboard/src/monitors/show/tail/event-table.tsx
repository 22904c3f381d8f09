import { ActionIcon, Badge, Code, Group, Stack, Table, Text, VisuallyHidden } from '@mantine/core';
import { IconBolt, IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import type { Event } from '@tocsin/contracts/monitors/events';
import { memo, type ReactNode, useCallback, useId, useState } from 'react';
import { tableLook } from '../../../components/data-table.tsx';
import { describeCause, formatLatency, zoneName } from '../../../components/format.ts';
import { ScrollRegion } from '../../../components/page.tsx';
import { CheckBadge, Quiet, Time, useNow } from '../../../components/text.tsx';
import { barScale } from '../phases.ts';
import { PhaseBar, PhaseList } from '../phases.tsx';
import { KeptResponse } from './kept-response.tsx';
import classes from './tail.module.css';

const WRAPPED = { overflowWrap: 'anywhere' } as const;

interface EventTableProps {
  readonly events: readonly Event[];
  readonly label: string;
  readonly maxHeight: number;
}

export function EventTable({ events, label, maxHeight }: EventTableProps): ReactNode {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const now = useNow(false);
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
      <Table
        {...tableLook}
        horizontalSpacing={6}
        stickyHeader
        className={`${tableLook.className} ${classes['table'] ?? ''}`}
      >
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Time ({zoneName(new Date(now))})</Table.Th>
            <Table.Th scope="col">Result</Table.Th>
            <Table.Th scope="col">Code</Table.Th>
            <Table.Th scope="col" data-number>
              Latency
            </Table.Th>
            <Table.Th scope="col" visibleFrom="sm">
              Phases
            </Table.Th>
            <Table.Th scope="col" visibleFrom="sm">
              Region
            </Table.Th>
            <Table.Th scope="col">
              <VisuallyHidden>Details</VisuallyHidden>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {events.map((event) => (
            <EventRow
              key={event.id}
              event={event}
              scaleMs={scaleMs}
              opened={opened.has(event.id)}
              onToggle={toggle}
            />
          ))}
        </Table.Tbody>
      </Table>
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
      <Table.Tr data-status={inconclusive ? 'INCONCLUSIVE' : status}>
        <Table.Td>
          <Time value={timestamp} as="row" />
        </Table.Td>
        <Table.Td>
          <Group gap="2xs">
            <CheckBadge check={event} />
            {source === 'trigger' && (
              <Badge size="sm" variant="default" leftSection={<IconBolt size={12} aria-hidden />}>
                {url === null ? 'Triggered' : 'Other URL'}
              </Badge>
            )}
          </Group>
          {errorReason !== null && <Reason text={describeCause(errorReason, errorDetail)} />}
          {url !== null && <Reason text={url} />}
        </Table.Td>
        <Table.Td>{statusCode ?? '–'}</Table.Td>
        <Table.Td data-number>{latency === 0 ? '–' : formatLatency(latency)}</Table.Td>
        <Table.Td visibleFrom="sm">
          <PhaseBar timings={timings} scaleMs={scaleMs} />
        </Table.Td>
        <Table.Td visibleFrom="sm">{region}</Table.Td>
        <Table.Td ta="end">
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
        </Table.Td>
      </Table.Tr>
      {opened && (
        <Table.Tr id={detailId}>
          <Table.Td colSpan={7}>
            <EventDetail event={event} />
          </Table.Td>
        </Table.Tr>
      )}
    </>
  );
});

function Reason({ text }: { readonly text: string }): ReactNode {
  return (
    <Text size="xs" lineClamp={2} maw={{ base: '16ch', sm: '28ch' }} title={text} style={WRAPPED}>
      {text}
    </Text>
  );
}

function EventDetail({ event }: { readonly event: Event }): ReactNode {
  const { timestamp, url, region, source, timings } = event;
  return (
    <Stack gap="xs" style={WRAPPED}>
      <EventError event={event} />
      {event.hasResponse && <KeptResponse event={event} />}
      {url !== null && (
        <div>
          Checked <b>{url}</b> instead of the monitor’s URL. The status did not change.
        </div>
      )}
      <PhaseList timings={timings} />
      <Quiet size="xs">
        <Time value={timestamp} /> · from {region} · {source === 'trigger' ? 'triggered' : 'scheduled'}
      </Quiet>
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
      <div>
        <b>{describeCause(errorReason, errorDetail)}</b> <Code>{errorReason}</Code>
      </div>
      {inconclusive && (
        <div>
          The checker in {region}, or its network, failed. This result does not affect the monitor's status or
          statistics.
        </div>
      )}
    </>
  );
}
