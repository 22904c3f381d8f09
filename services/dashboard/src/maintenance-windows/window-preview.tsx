import { Alert, Skeleton, Stack, Text } from '@mantine/core';
import type { FormErrors } from '@mantine/form';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { MaintenanceWindowPreview } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { type ReactNode, useMemo, useState } from 'react';
import { isWorthRetrying } from '../api/query-client.ts';
import { ApiError, isAboutFields } from '../api/request.ts';
import { toFormErrors } from '../components/form.ts';
import { formatCount } from '../components/format.ts';
import { ErrorNotice, useFailure } from '../components/load-states.tsx';
import { namesOf, useCovered } from '../labels/coverage-fields.tsx';
import { type Coverage, describeCoverage } from '../labels/coverage.ts';
import { Panel } from '../components/page.tsx';
import { Quiet, TextLink } from '../components/text.tsx';
import { ClockChanges, OccurrenceTable, ScheduleSentence, ZonedTime } from './schedule.tsx';
import { previewQuery } from './queries.ts';
import { toPreviewBody, type WindowValues } from './window-values.ts';

const DEBOUNCE_MS = 300;
const MAX_OVERLAPS = 5;
const MAX_NAMES = 6;
const CORRECT_FIRST = <Quiet>Correct the fields with errors to update the occurrences.</Quiet>;

type PreviewState = ReturnType<typeof usePreview>;

/** Fetches a preview while the user edits a window. @param windowId null for a new window */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the types are those of the query
export function usePreview(latest: WindowValues, windowId: string | null) {
  const [values] = useDebouncedValue(latest, DEBOUNCE_MS);
  const body = useMemo(() => toPreviewBody(values, windowId), [values, windowId]);
  const query = useQuery(previewQuery(body));
  // Keeps the last preview while the next one loads.
  const [preview, setPreview] = useState(query.data);
  if (query.data !== undefined && query.data !== preview) setPreview(query.data);
  return { body, preview, failure: useFailure(query), retry: (): void => void query.refetch() };
}

export function previewErrors({ failure }: PreviewState): FormErrors {
  return toFormErrors(failure instanceof ApiError ? failure.fields : []);
}

export function WindowPreview({ body, preview, failure, retry }: PreviewState): ReactNode {
  return (
    <Panel title="Preview">
      <Stack gap="md" aria-live="polite">
        {body === null ? (
          CORRECT_FIRST
        ) : (
          <>
            <Text size="sm">
              <ScheduleSentence schedule={body} />
            </Text>
            <Covered coverage={body} />
            {isAboutFields(failure)
              ? CORRECT_FIRST
              : failure !== null && (
                  <ErrorNotice
                    error={failure}
                    retry={retry}
                    retriesAutomatically={isWorthRetrying(failure)}
                  />
                )}
            {preview !== undefined && (
              <>
                <OccurrenceTable occurrences={preview.occurrences} timeZone={body.timeZone} />
                <ClockChanges changes={preview.clockChanges} timeZone={body.timeZone} />
                <Overlaps overlaps={preview.overlaps} timeZone={body.timeZone} />
              </>
            )}
            {preview === undefined && failure === null && <Skeleton height={150} />}
          </>
        )}
      </Stack>
    </Panel>
  );
}

function Covered({ coverage }: { readonly coverage: Coverage }): ReactNode {
  const covered = useCovered(coverage);
  if (covered?.length === 0)
    return <Quiet>Select the monitors that send no alerts during maintenance.</Quiet>;
  return (
    <Quiet>
      No alerts from{' '}
      {coverage.allMonitors || covered === undefined
        ? describeCoverage(coverage, covered).toLowerCase()
        : namesOf(covered, MAX_NAMES)}
      . Checks continue and are recorded.
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
              : {formatCount(monitorCount, 'monitor')}, from <ZonedTime value={startsAt} zone={timeZone} /> (
              {timeZone})
            </li>
          ))}
        {overlaps.length > MAX_OVERLAPS && <li>and {overlaps.length - MAX_OVERLAPS} more</li>}
      </Stack>
    </Alert>
  );
}
