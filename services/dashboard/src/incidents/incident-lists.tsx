import { Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { ReactNode } from 'react';
import { describeCause } from '../components/describe-cause.ts';
import { formatLocal, formatSpan, formatUtc } from '../components/format-time.ts';
import { LoadMore } from '../components/load-more.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Panel } from '../components/panel.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { TextLink } from '../components/text-link.tsx';
import { Time, useNow } from '../components/time.tsx';
import { readerZone } from '../components/zoned-time.ts';
import { describeDay, groupByDay } from './group-by-day.ts';
import classes from './incidents.module.css';
import { MOST_OPEN, openIncidentsQuery, pastIncidentsQuery } from './queries.ts';

/** What is down now. @param monitorId null: of all monitors */
export function OpenIncidents({ monitorId }: { readonly monitorId: string | null }): ReactNode {
  const query = useQuery(openIncidentsQuery);
  const ofMonitor = (incidents: readonly Incident[]): readonly Incident[] =>
    incidents.filter((incident) => monitorId === null || incident.monitorId === monitorId);
  const count = ofMonitor(query.data ?? []).length;
  return (
    <Panel title={count > 0 ? `Open: ${count}` : 'Open'}>
      <Loaded query={query} pending={<Skeleton height={44} />}>
        {(incidents) => (
          <>
            <List incidents={ofMonitor(incidents)} />
            {incidents.length >= MOST_OPEN && (
              <Text size="sm" c="var(--text-quiet)" mt="sm">
                These are the latest {MOST_OPEN}; there may be more.
              </Text>
            )}
          </>
        )}
      </Loaded>
    </Panel>
  );
}

function List({ incidents }: { readonly incidents: readonly Incident[] }): ReactNode {
  if (incidents.length === 0)
    return (
      <Group gap={8} py={6}>
        <IconCircleCheck size={20} color="var(--status-up)" aria-hidden />
        <Text size="sm">Nothing is wrong.</Text>
      </Group>
    );
  return (
    <Stack gap={0} component="ul" className={classes['list'] ?? ''}>
      {incidents.map((incident) => (
        <OpenIncident key={incident.id} incident={incident} />
      ))}
    </Stack>
  );
}

function OpenIncident({ incident }: { readonly incident: Incident }): ReactNode {
  const now = useNow();
  const seconds = Math.max(incident.durationSeconds, (now - Date.parse(incident.openedAt)) / 1_000);
  return (
    <li className={classes['row']}>
      <StatusBadge status="DOWN" />
      <div className={classes['what']}>
        <TextLink to="/monitors/$monitorId" params={{ monitorId: incident.monitorId }} fw={600}>
          {incident.monitorName}
        </TextLink>
        <Text size="sm" c="var(--text-quiet)">
          {describeCause(incident.cause)} · {incident.region}
        </Text>
      </div>
      <div className={classes['when']}>
        <Text size="sm" fw={600} className="tabular">
          for {formatSpan(seconds)}
        </Text>
        <Text size="xs" c="var(--text-quiet)">
          since <Time value={incident.openedAt} />
        </Text>
      </div>
    </li>
  );
}

/** What was down and came back, by day. @param monitorId null: of all monitors */
export function PastIncidents({ monitorId }: { readonly monitorId: string | null }): ReactNode {
  const query = useInfiniteQuery(pastIncidentsQuery(monitorId));
  return (
    <Panel title="Resolved">
      <Loaded query={query} pending={<Placeholder />}>
        {({ pages }) =>
          pages[0]?.length === 0 ? (
            <Text size="sm" c="var(--text-quiet)" py={6}>
              No incident is over yet.
            </Text>
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
              <PastIncident key={incident.id} incident={incident} />
            ))}
          </ul>
        </section>
      ))}
    </Stack>
  );
}

function PastIncident({ incident }: { readonly incident: Incident }): ReactNode {
  const { openedAt, resolvedAt, durationSeconds, cause, region } = incident;
  return (
    <li className={classes['row']}>
      <Text size="sm" className={`tabular ${classes['span'] ?? ''}`}>
        <ClockTime value={openedAt} />
        {resolvedAt !== null && (
          <>
            {' – '}
            <ClockTime value={resolvedAt} from={openedAt} />
          </>
        )}
      </Text>
      <div className={classes['what']}>
        <TextLink to="/monitors/$monitorId" params={{ monitorId: incident.monitorId }} fw={500} c="inherit">
          {incident.monitorName}
        </TextLink>
        <Text size="sm" c="var(--text-quiet)">
          {describeCause(cause)} · {region}
        </Text>
      </div>
      <Text size="sm" className={`tabular ${classes['when'] ?? ''}`}>
        lasted {formatSpan(durationSeconds)}
      </Text>
    </li>
  );
}

function Placeholder(): ReactNode {
  return (
    <Stack gap="sm">
      <Skeleton height={18} width={120} />
      {[0, 1, 2, 3].map((row) => (
        <Skeleton key={row} height={40} />
      ))}
    </Stack>
  );
}

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
function ClockTime({ value, from = value }: ClockTimeProps): ReactNode {
  const date = new Date(value);
  const isSameDay = date.toDateString() === new Date(from).toDateString();
  return (
    <time dateTime={value} title={`${formatLocal(date)} · ${formatUtc(date)}`}>
      {(isSameDay ? TIME : DAY_AND_TIME).format(date)}
    </time>
  );
}
