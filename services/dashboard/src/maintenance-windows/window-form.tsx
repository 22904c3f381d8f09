import { SimpleGrid, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { getRouteApi, useLocation, useNavigate } from '@tanstack/react-router';
import { LIMITS } from '@tocsin/contracts/limits';
import type { MaintenanceWindow } from '@tocsin/contracts/maintenance-windows/maintenance-window';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { type ApiForm, useApiForm } from '../components/form.ts';
import { PageHeader, Panel } from '../components/page.tsx';
import { SaveForm, type SaveFormProps } from '../components/save-form.tsx';
import { CoverageFields } from '../labels/coverage-fields.tsx';
import { toCoverageField } from '../labels/coverage.ts';
import { readerZone } from '../components/zoned-time.ts';
import { windowQuery, windowsQuery } from './queries.ts';
import { RecurrenceFields } from './recurrence-fields.tsx';
import { ScheduleFields } from './schedule-fields.tsx';
import { previewErrors, usePreview, WindowPreview } from './window-preview.tsx';
import {
  findErrors,
  newValues,
  placeOverlap,
  toBody,
  toUpdate,
  valuesOf,
  type WindowValues,
} from './window-values.ts';

const route = getRouteApi('/signed-in/editing/maintenance/new');

export function NewWindowPage(): ReactNode {
  const { monitorId } = route.useSearch();
  const { state } = useLocation();
  const navigate = useNavigate();
  const refresh = useRefresh();
  const monitorIds = monitorId === undefined ? (state.monitorIds ?? []) : [monitorId];
  const [initialValues] = useState(() => newValues(monitorIds, readerZone(), Date.now()));
  return (
    <>
      <PageHeader title="New maintenance window" hint="Checks continue, alerts pause" />
      <WindowForm
        initialValues={initialValues}
        windowId={null}
        action="Create window"
        save={async (values) => {
          const body = toBody(values);
          const { maintenanceWindow } = await api('POST /api/dashboard/maintenance-windows', { body });
          void refresh(windowsQuery);
          notifications.show({ message: `${maintenanceWindow.name} was created.` });
          await navigate({ to: '/maintenance/$windowId', params: { windowId: maintenanceWindow.id } });
        }}
        onCancel={() => void navigate({ to: '/maintenance' })}
      />
    </>
  );
}

interface EditWindowFormProps {
  readonly window: MaintenanceWindow;
  readonly onDone: () => void;
}

export function EditWindowForm({ window, onDone }: EditWindowFormProps): ReactNode {
  const { id } = window;
  const refresh = useRefresh();
  // Only fields that this user changed are sent, even if the window is refetched meanwhile.
  const [before] = useState(() => valuesOf(window));
  return (
    <WindowForm
      initialValues={before}
      windowId={id}
      action="Save"
      save={async (values) => {
        await api('PUT /api/dashboard/maintenance-windows/:id', { id, body: toUpdate(before, values) });
        await refresh(windowsQuery, windowQuery(id));
        notifications.show({ message: 'Maintenance window saved.' });
        onDone();
      }}
      onCancel={onDone}
    />
  );
}

interface WindowFormProps extends Omit<SaveFormProps<WindowValues>, 'form' | 'children'> {
  readonly initialValues: WindowValues;
  /** Null for a new window. */
  readonly windowId: string | null;
}

function WindowForm({ initialValues, windowId, ...rest }: WindowFormProps): ReactNode {
  const form: ApiForm<WindowValues> = useApiForm<WindowValues>({
    initialValues,
    validate: findErrors,
    toField: toCoverageField,
    // Server errors of the rule can depend on several fields.
    onValuesChange: () => form.clearFieldError('rrule'),
  });
  const preview = usePreview(form.values, windowId);
  const errors = placeOverlap({ ...previewErrors(preview), ...form.errors });
  return (
    <SaveForm form={form} {...rest}>
      <SimpleGrid cols={{ base: 1, md: 2 }} style={{ alignItems: 'start' }}>
        <Stack>
          <Panel title="Name and schedule">
            <Stack>
              <TextInput
                label="Name"
                description="Such as “Database upgrade”."
                required
                {...form.getInputProps('name')}
              />
              <ScheduleFields form={form} errors={errors} />
              <RecurrenceFields form={form} errors={errors} />
            </Stack>
          </Panel>
          <Panel title="Affected monitors">
            <CoverageFields label="Covers" maxSelected={LIMITS.maintenanceMonitors} form={form} />
          </Panel>
        </Stack>
        <WindowPreview {...preview} />
      </SimpleGrid>
    </SaveForm>
  );
}
