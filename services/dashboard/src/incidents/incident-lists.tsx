import { Group, Stack, Text, Title } from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { ReactNode } from 'react';
import { describeCause, formatLocal, formatSpan, formatUtc } from '../components/format.ts';
import { Loaded, LoadMore, Placeholder } from '../components/load-states.tsx';
import { Panel } from '../components/page.tsx';
import { Quiet, StatusBadge, TextLink, Time, useNow } from '../components/text.tsx';
import { readerZone } from '../components/zoned-time.ts';
import { describeDay, groupByDay } from './group-by-day.ts';
import classes from './incidents.module.css';
import { MAX_OPEN_INCIDENTS, openIncidentsQuery, resolvedIncidentsQuery } from './queries.ts';

const TIME = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const DAY_AND_TIME = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

interface IncidentListProps {
  /** Null: the incidents of all monitors. */
  readonly monitorId: string | null;
}

export function OpenIncidents({ monitorId }: IncidentListProps): ReactNode {
  const query = useQuery(openIncidentsQuery);
  const ofMonitor = (incidents: readonly Incident[]): readonly Incident[] =>
    incidents.filter((incident) => monitorId === null || incident.monitorId === monitorId);
  const count = ofMonitor(query.data ?? []).length;
  return (
    <Panel title={count > 0 ? `Open: ${count}` : 'Open'}>
      <Loaded query={query} pending={<Placeholder heights={[44]} />}>
        {(incidents) => (
          <>
            {count === 0 ? (
              <Group gap={8} py={6}>
                <IconCircleCheck size={20} color="var(--status-up)" aria-hidden />
                <Text size="sm">No open incidents.</Text>
              </Group>
            ) : (
              <ul className={classes['list']}>
                {ofMonitor(incidents).map((incident) => (
                  <OpenIncident key={incident.id} incident={incident} />
                ))}
              </ul>
            )}
            {incidents.length >= MAX_OPEN_INCIDENTS && (
              <Quiet mt="sm">Only the latest {MAX_OPEN_INCIDENTS} open incidents are shown.</Quiet>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function OpenIncident({ incident }: { readonly incident: Incident }): ReactNode {
  const now = useNow();
  const seconds = Math.max(incident.durationSeconds, (now - Date.parse(incident.openedAt)) / 1_000);
  return (
    <li className={classes['row']}>
      <StatusBadge status="DOWN" />
      <MonitorAndCause incident={incident} />
      <div className={classes['when']}>
        <Text size="sm" fw={600} className="tabular">
          for {formatSpan(seconds)}
        </Text>
        <Quiet size="xs">
          since <Time value={incident.openedAt} />
        </Quiet>
      </div>
    </li>
  );
}

/** Resolved incidents, by day. */
export function ResolvedIncidents({ monitorId }: IncidentListProps): ReactNode {
  const query = useInfiniteQuery(resolvedIncidentsQuery(monitorId));
  return (
    <Panel title="Resolved">
      <Loaded query={query} pending={<Placeholder heights={[18, 40, 41, 42]} />}>
        {({ pages }) =>
          pages[0]?.length === 0 ? (
            <Quiet py={6}>No resolved incidents yet.</Quiet>
          ) : (
            <Days incidents={pages.flat()} />
          )
        }
      </Loaded>
      <LoadMore query={query} />
    </Panel>
  );
}

function Days({ incidents }: { readonly incidents: readonly Incident[] }): ReactNode {
  const zone = readerZone();
  const now = useNow();
  return (
    <Stack gap="lg">
      {groupByDay(incidents, ({ openedAt }) => openedAt, zone).map(({ date, items }) => (
        <section key={date} aria-label={describeDay(date, now, zone)}>
          <Title order={3} size="h6" c="var(--text-quiet)" mb={4}>
            {describeDay(date, now, zone)}
          </Title>
          <ul className={classes['list']} data-timeline>
            {items.map((incident) => (
              <ResolvedIncident key={incident.id} incident={incident} />
            ))}
          </ul>
        </section>
      ))}
    </Stack>
  );
}

function ResolvedIncident({ incident }: { readonly incident: Incident }): ReactNode {
  const { openedAt, resolvedAt, durationSeconds } = incident;
  return (
    <li className={classes['row']}>
      <Text size="sm" className={`tabular ${classes['span'] ?? ''}`}>
        <ClockTime value={openedAt} from={openedAt} />
        {resolvedAt !== null && (
          <>
            {' – '}
            <ClockTime value={resolvedAt} from={openedAt} />
          </>
        )}
      </Text>
      <MonitorAndCause incident={incident} />
      <Text size="sm" className={`tabular ${classes['when'] ?? ''}`}>
        lasted {formatSpan(durationSeconds)}
      </Text>
    </li>
  );
}

function MonitorAndCause({ incident }: { readonly incident: Incident }): ReactNode {
  const { monitorId, monitorName, cause, region, resolvedAt } = incident;
  return (
    <div className={classes['what']}>
      <TextLink
        to="/monitors/$monitorId"
        params={{ monitorId }}
        {...(resolvedAt === null ? { fw: 600 } : { fw: 500, c: 'inherit' })}
      >
        {monitorName}
      </TextLink>
      <Quiet>
        {describeCause(cause)} · {region}
      </Quiet>
    </div>
  );
}

interface ClockTimeProps {
  /** ISO 8601. */
  readonly value: string;
  /** A time on the day of the heading. `value` shows its own day if it is on another one. */
  readonly from: string;
}

function ClockTime({ value, from }: ClockTimeProps): ReactNode {
  const date = new Date(value);
  const isSameDay = date.toDateString() === new Date(from).toDateString();
  return (
    <time dateTime={value} title={`${formatLocal(date)} · ${formatUtc(date)}`}>
      {(isSameDay ? TIME : DAY_AND_TIME).format(date)}
    </time>
  );
}
