import { Group, NativeSelect, Stack, Text } from '@mantine/core';
import { IconCheck, IconPlayerPlay, IconX } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { TrialCheck as TrialCheckResult } from '@tocsin/contracts/monitors/trial-check';
import { createMonitorSchema, type Monitor } from '@tocsin/contracts/monitors/monitor';
import { type ReactNode, useState } from 'react';
import { api, isAboutFields } from '../../api/request.ts';
import { IconButton } from '../../components/buttons.tsx';
import { toFormErrors } from '../../components/form.ts';
import { describeCause } from '../../components/format.ts';
import { ErrorNotice } from '../../components/load-states.tsx';
import { Panel } from '../../components/page.tsx';
import { Quiet } from '../../components/text.tsx';
import { CheckFigures, PhaseList } from '../show/phases.tsx';
import { ResponseContent } from '../show/tail/kept-response.tsx';
import { findErrors, type MonitorForm, toTrialBody } from './form-values.ts';

interface TrialCheckProps {
  readonly form: MonitorForm;
  /** The edited monitor, or null for a new one. */
  readonly stored: Monitor | null;
}

/** Checks once with the settings in the form, without saving them, and shows the result. */
export function TrialCheck({ form, stored }: TrialCheckProps): ReactNode {
  const { regions } = form.values;
  const [chosen, setChosen] = useState<string | null>(null);
  const region = regions.find((one) => one === chosen) ?? regions[0];
  const settings = JSON.stringify(toTrialBody(form.values, stored));
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: async () => {
      const body = createMonitorSchema.parse(JSON.parse(settings));
      const { test } = await api('POST /api/dashboard/monitors/test', { body, query: { region } });
      return { test, settings };
    },
    onError: (failure) => {
      if (form.applyErrors(failure)) focusField();
    },
    // The settings may contain secrets.
    gcTime: 0,
  });
  const run = (): void => {
    const errors = findErrors({ ...form.values, name: 'Test', externalId: '', source: '' }, stored);
    if (errors.length === 0) return mutate();
    form.setErrors(toFormErrors(errors));
    focusField();
  };
  return (
    <Panel
      title="Test"
      actions={
        <Group gap="xs">
          {regions.length > 1 && (
            <NativeSelect
              size="xs"
              aria-label="Region of the test"
              data={regions}
              value={region}
              onChange={({ currentTarget }) => setChosen(currentTarget.value)}
            />
          )}
          <IconButton size="xs" icon={IconPlayerPlay} loading={isPending} onClick={run}>
            Run a check
          </IconButton>
        </Group>
      }
    >
      <div aria-live="polite">
        {isPending ? (
          <Quiet>Waiting for the result…</Quiet>
        ) : error !== null && !isAboutFields(error) ? (
          <ErrorNotice error={error} />
        ) : data === undefined ? (
          <Quiet>Checks once with these settings. Nothing is saved or recorded, and no alert is sent.</Quiet>
        ) : (
          <TrialResult result={data.test} isOutdated={data.settings !== settings} />
        )}
      </div>
    </Panel>
  );
}

function focusField(): void {
  // After the errors have rendered.
  setTimeout(() => document.querySelector<HTMLElement>('main [aria-invalid="true"]')?.focus());
}

/** Keeps its size next to a long detail. */
const ICON = { flex: 'none' };

interface TrialResultProps {
  readonly result: TrialCheckResult;
  /** True if the settings have changed since the check. */
  readonly isOutdated: boolean;
}

function TrialResult({ result, isOutdated }: TrialResultProps): ReactNode {
  const { errorReason, errorDetail, region, timings, assertions, response } = result;
  return (
    <Stack gap={8} style={{ overflowWrap: 'anywhere' }}>
      <CheckFigures check={result}>
        <Text size="sm">from {region}</Text>
      </CheckFigures>
      {isOutdated && <Quiet>The settings have changed since this check. Run it again.</Quiet>}
      {assertions.length > 0 && (
        <ul className="plain-list" aria-label="Assertions">
          {assertions.map(({ assertion, passed, detail }) => (
            <li key={assertion}>
              <Group gap={6} wrap="nowrap" align="start">
                {passed ? (
                  <IconCheck size={16} style={ICON} aria-label="Passed" />
                ) : (
                  <IconX size={16} style={ICON} color="var(--mantine-color-red-6)" aria-label="Failed" />
                )}
                {detail}
              </Group>
            </li>
          ))}
        </ul>
      )}
      {errorReason !== null && <b>{describeCause(errorReason, errorDetail)}</b>}
      <PhaseList timings={timings} />
      {response !== null && <ResponseContent response={response} />}
    </Stack>
  );
}
