import { Skeleton, Stack, Text, Title } from '@mantine/core';
import type { Incident } from '@tocsin/contracts/incident';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { formatSpan } from '../components/format-time.ts';
import { Loaded } from '../components/loaded.tsx';
import { LoadMore } from '../components/load-more.tsx';
import { Panel } from '../components/panel.tsx';
import { TextLink } from '../components/text-link.tsx';
import { useNow } from '../components/time.tsx';
import { readerZone } from '../components/zoned-time.ts';
import { describeCause } from '../components/describe-cause.ts';
import { describeDay, groupByDay } from './group-by-day.ts';
import { ClockTime } from './clock-time.tsx';
import classes from './incidents.module.css';
import { pastIncidentsQuery } from './queries.ts';

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
              <Row key={incident.id} incident={incident} />
            ))}
          </ul>
        </section>
      ))}
    </Stack>
  );
}

function Row({ incident }: { readonly incident: Incident }): ReactNode {
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
