import { Alert, Skeleton, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { listNames } from '../components/filter-monitors.ts';
import { Panel } from '../components/panel.tsx';
import { TextLink } from '../components/text-link.tsx';
import { useNow } from '../components/time.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import type { Overlap } from './find-overlaps.ts';
import { OccurrenceTable, ScheduleSentence, ZonedTime } from './occurrence-table.tsx';
import type { Occurrence, Schedule } from './occurrences.ts';
import { windowsQuery } from './queries.ts';
import { toBody, type WindowValues } from './window-values.ts';

const SETTLE_MS = 250;
const MOST_OVERLAPS = 5;

interface WindowPreviewProps {
  readonly values: WindowValues;
  /** The window that is being changed; null: a new one. */
  readonly windowId: string | null;
}

/** What a window would do, while its form is filled in. */
export function WindowPreview({ values: latest, windowId }: WindowPreviewProps): ReactNode {
  const [values] = useDebouncedValue(latest, SETTLE_MS);
  const schedule = useMemo(() => scheduleOf(values), [values]);
  const preview = usePreview(schedule, values.monitorIds, windowId);
  return (
    <Panel title="What it will do">
      <Stack gap="md" aria-live="polite">
        {schedule !== null && (
          <Text size="sm">
            <ScheduleSentence schedule={schedule} />
          </Text>
        )}
        <Silenced monitorIds={values.monitorIds} />
        {schedule === null ? (
          <Text size="sm" c="var(--text-quiet)">
            The next times appear here once start and end are right.
          </Text>
        ) : preview === null ? (
          <Skeleton height={150} />
        ) : 'problem' in preview ? (
          <Alert color="red" variant="light" title="The rule cannot be read">
            {preview.problem}
          </Alert>
        ) : (
          <>
            {preview.occurrences.length === 0 ? (
              <Alert color="red" variant="light" title="All of it is past">
                Choose a start that is still to come.
              </Alert>
            ) : (
              <OccurrenceTable occurrences={preview.occurrences} timeZone={values.timeZone} />
            )}
            {preview.tight !== null && (
              <Alert color="red" variant="light" title="It lasts longer than the time to the next one">
                The one of <ZonedTime value={preview.tight.startsAt} zone={values.timeZone} /> would still run
                when the next starts. Make it shorter, or repeat it less often.
              </Alert>
            )}
            <Overlaps overlaps={preview.overlaps} timeZone={values.timeZone} />
          </>
        )}
      </Stack>
    </Panel>
  );
}

function scheduleOf(values: WindowValues): Schedule | null {
  const { startsAt, endsAt, rrule = null, timeZone = 'UTC' } = toBody(values);
  if (startsAt === '' || endsAt === '' || endsAt <= startsAt) return null;
  return { startsAt, endsAt, rrule, timeZone };
}

function Silenced({ monitorIds }: { readonly monitorIds: readonly string[] }): ReactNode {
  const { data: monitors } = useQuery(monitorsQuery);
  const ids = new Set(monitorIds);
  const names = (monitors ?? []).filter(({ id }) => ids.has(id)).map(({ name }) => name);
  return (
    <Text size="sm" c="var(--text-quiet)">
      {monitorIds.length === 0
        ? 'Choose monitors: it silences none yet.'
        : `Silences ${names.length > 0 ? listNames(names, 6) : `${monitorIds.length} monitors`}. Checks go on and are recorded; nothing alerts.`}
    </Text>
  );
}

function Overlaps({
  overlaps,
  timeZone,
}: {
  readonly overlaps: readonly Overlap[];
  readonly timeZone: string;
}): ReactNode {
  if (overlaps.length === 0) return null;
  return (
    <Alert color="gray" variant="light" title="It overlaps, and the last one’s end counts">
      <Stack gap={4} component="ul" m={0} pl="md">
        {overlaps.slice(0, MOST_OVERLAPS).map(({ window, at, monitorCount }) => (
          <Text key={window.id} size="sm" component="li">
            with{' '}
            <TextLink
              underline="always"
              to="/maintenance/$windowId"
              params={{ windowId: window.id }}
              target="_blank"
            >
              {window.name}
            </TextLink>{' '}
            on {monitorCount === 1 ? '1 monitor' : `${monitorCount} monitors`}, from{' '}
            <ZonedTime value={at} zone={timeZone} />
          </Text>
        ))}
        {overlaps.length > MOST_OVERLAPS && (
          <Text size="sm" component="li">
            and with {overlaps.length - MOST_OVERLAPS} more
          </Text>
        )}
      </Stack>
    </Alert>
  );
}

const SHOWN = 5;

interface Preview {
  /** The next ones; what runs now is one of them. */
  readonly occurrences: readonly Occurrence[];
  /** One that would still run when the next starts, which the server refuses. */
  readonly tight: Occurrence | null;
  readonly overlaps: readonly Overlap[];
}

/** The rules of recurrence are large: loaded with the first preview. */
const rulesQuery = {
  queryKey: ['recurrence-rules'],
  queryFn: async () => ({
    ...(await import('./occurrences.ts')),
    ...(await import('./find-overlaps.ts')),
  }),
  staleTime: Infinity,
  gcTime: Infinity,
  structuralSharing: false,
} as const;

/**
 * What a window that is not saved yet would do, worked out here. Null while that cannot be said.
 * @param schedule null where times are missing
 * @returns or what is wrong with its rule
 */
function usePreview(
  schedule: Schedule | null,
  monitorIds: readonly string[],
  ownId: string | null,
): Preview | { readonly problem: string } | null {
  const { data: rules } = useQuery(rulesQuery);
  const { data: windows } = useQuery(windowsQuery);
  const now = useNow(false);
  return useMemo(() => {
    if (rules === undefined || schedule === null) return null;
    try {
      const occurrences = rules.nextOccurrences(schedule, SHOWN, now);
      return {
        occurrences,
        tight: rules.tightOccurrence(schedule, now),
        overlaps: rules.findOverlaps(occurrences, new Set(monitorIds), windows ?? [], ownId),
      };
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) };
    }
  }, [rules, windows, schedule, monitorIds, ownId, now]);
}
