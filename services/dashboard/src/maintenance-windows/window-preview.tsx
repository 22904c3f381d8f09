import { Alert, Skeleton, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { MaintenanceWindowPreview } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { type ReactNode, useMemo, useState } from 'react';
import { isWorthRetrying } from '../api/query-client.ts';
import { ApiError, isAboutFields } from '../api/request.ts';
import { listNames } from '../components/filter-monitors.ts';
import { ErrorNotice, useFailure } from '../components/load-states.tsx';
import { Panel } from '../components/page.tsx';
import { Quiet, TextLink } from '../components/text.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { OccurrenceTable, ScheduleSentence, ZonedTime } from './occurrence-table.tsx';
import { type PreviewBody, previewQuery } from './queries.ts';
import { toBody, type WindowValues } from './window-values.ts';

const DEBOUNCE_MS = 300;
const MAX_OVERLAPS = 5;

interface PreviewState {
  /** Null while a time is missing. */
  readonly body: PreviewBody | null;
  /** The last one that the server returned. */
  readonly preview: MaintenanceWindowPreview | undefined;
  /** Of the last request; null: it succeeded or is in progress for the first time. */
  readonly failure: unknown;
  readonly retry: () => void;
}

/** Asks the server for the occurrences of a window while its form is filled in. @param windowId null: a new window */
export function usePreview(latest: WindowValues, windowId: string | null): PreviewState {
  const [values] = useDebouncedValue(latest, DEBOUNCE_MS);
  const body = useMemo(() => previewBody(values, windowId), [values, windowId]);
  const query = useQuery(previewQuery(body));
  const [preview, setPreview] = useState(query.data);
  if (query.data !== undefined && query.data !== preview) setPreview(query.data);
  return { body, preview, failure: useFailure(query), retry: () => void query.refetch() };
}

function previewBody(values: WindowValues, windowId: string | null): PreviewBody | null {
  const { name: _, ...body } = toBody(values);
  if (body.startsAt === '' || body.endsAt === '' || body.endsAt <= body.startsAt) return null;
  return { ...body, ...(windowId !== null && { maintenanceWindowId: windowId }) };
}

/** The errors of a preview by their fields. */
export function previewErrors({ failure }: PreviewState): Readonly<Record<string, string>> {
  const fields = failure instanceof ApiError ? failure.fields : [];
  return Object.fromEntries(fields.map(({ path, message }) => [path, message]));
}

/** What a window would do. */
export function WindowPreview({ body, preview, failure, retry }: PreviewState): ReactNode {
  return (
    <Panel title="Preview">
      <Stack gap="md" aria-live="polite">
        {body === null ? (
          <Quiet>Enter a valid start and end to see the occurrences.</Quiet>
        ) : (
          <>
            <Text size="sm">
              <ScheduleSentence schedule={body} />
            </Text>
            <SilencedMonitors ids={body.monitorIds} />
            {isAboutFields(failure) ? (
              <Quiet>Correct the fields with errors to update the occurrences.</Quiet>
            ) : (
              failure !== null && (
                <ErrorNotice error={failure} retry={retry} retriesAutomatically={isWorthRetrying(failure)} />
              )
            )}
            {preview !== undefined ? (
              <>
                {preview.occurrences.length === 0 ? (
                  <Quiet>All occurrences are in the past.</Quiet>
                ) : (
                  <OccurrenceTable occurrences={preview.occurrences} timeZone={body.timeZone} />
                )}
                <Overlaps overlaps={preview.overlaps} timeZone={body.timeZone} />
              </>
            ) : (
              failure === null && <Skeleton height={150} />
            )}
          </>
        )}
      </Stack>
    </Panel>
  );
}

function SilencedMonitors({ ids }: { readonly ids: readonly string[] }): ReactNode {
  const { data: monitors = [] } = useQuery(monitorsQuery);
  if (ids.length === 0) return <Quiet>Select the monitors that send no alerts during maintenance.</Quiet>;
  const silenced = new Set(ids);
  const names = monitors.filter(({ id }) => silenced.has(id)).map(({ name }) => name);
  return (
    <Quiet>
      No alerts from {names.length > 0 ? listNames(names, 6) : `${ids.length} monitors`}. Checks continue and
      are recorded.
    </Quiet>
  );
}

interface OverlapsProps extends Pick<MaintenanceWindowPreview, 'overlaps'> {
  readonly timeZone: string;
}

function Overlaps({ overlaps, timeZone }: OverlapsProps): ReactNode {
  if (overlaps.length === 0) return null;
  return (
    <Alert color="gray" title="Overlaps with other windows">
      A monitor stays in maintenance until the last of its windows ends.
      <Stack gap={4} component="ul" m={0} mt={4} pl="md">
        {overlaps
          .slice(0, MAX_OVERLAPS)
          .map(({ maintenanceWindowId: windowId, name, startsAt, monitorCount }) => (
            <li key={windowId}>
              <TextLink
                underline="always"
                to="/maintenance/$windowId"
                params={{ windowId }}
                size="sm"
                target="_blank"
              >
                {name}
              </TextLink>
              : {monitorCount === 1 ? '1 monitor' : `${monitorCount} monitors`}, from{' '}
              <ZonedTime value={startsAt} zone={timeZone} />
            </li>
          ))}
        {overlaps.length > MAX_OVERLAPS && <li>and {overlaps.length - MAX_OVERLAPS} more</li>}
      </Stack>
    </Alert>
  );
}
