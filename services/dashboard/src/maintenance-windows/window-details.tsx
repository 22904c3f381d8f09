import { Code, Grid, Group, Stack, Text } from '@mantine/core';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-window';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { sortMonitors } from '../components/filter-monitors.ts';
import { Panel } from '../components/panel.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { TextLink } from '../components/text-link.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { OccurrenceTable } from './occurrence-table.tsx';
import { ScheduleSentence } from './schedule-sentence.tsx';

const MOST_MONITORS = 50;

/** A window as the server has it: its plan, its next times, its monitors. */
export function WindowDetails({ window }: { readonly window: MaintenanceWindow }): ReactNode {
  const { rrule, timeZone, upcoming, currentOccurrence } = window;
  const times = currentOccurrence === null ? upcoming : [currentOccurrence, ...upcoming];
  return (
    <Grid>
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Panel title="Plan">
          <Stack gap="sm">
            <Text size="sm">
              <ScheduleSentence schedule={window} />
            </Text>
            {rrule !== null && (
              <Group gap="xs">
                <Text size="xs" c="var(--text-quiet)">
                  Rule
                </Text>
                <Code style={{ overflowWrap: 'anywhere' }}>{rrule}</Code>
              </Group>
            )}
            {times.length === 0 ? (
              <Text size="sm" c="var(--text-quiet)">
                Nothing is left of it.
              </Text>
            ) : (
              <OccurrenceTable occurrences={times} timeZone={timeZone} />
            )}
          </Stack>
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Monitors window={window} />
      </Grid.Col>
    </Grid>
  );
}

function Monitors({ window: { monitorIds } }: { readonly window: MaintenanceWindow }): ReactNode {
  const { data } = useQuery(monitorsQuery);
  const ids = new Set(monitorIds);
  const monitors = sortMonitors(
    (data ?? []).filter(({ id }) => ids.has(id)),
    new Set(),
  );
  return (
    <Panel title={monitorIds.length === 1 ? 'Silences 1 monitor' : `Silences ${monitorIds.length} monitors`}>
      <Stack gap={6}>
        {monitors.slice(0, MOST_MONITORS).map(({ id, name, status }) => (
          <Group key={id} justify="space-between" wrap="nowrap">
            <TextLink to="/monitors/$monitorId" params={{ monitorId: id }} size="sm" c="inherit" truncate>
              {name}
            </TextLink>
            <StatusBadge status={status} />
          </Group>
        ))}
        {monitorIds.length > MOST_MONITORS && (
          <Text size="sm" c="var(--text-quiet)">
            and {monitorIds.length - MOST_MONITORS} more
          </Text>
        )}
      </Stack>
    </Panel>
  );
}
