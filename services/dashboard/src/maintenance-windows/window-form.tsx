import { Grid, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { errorsUnder } from '../components/form.ts';
import { MonitorSelect } from '../components/monitor-select.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { readerZone } from '../components/zoned-time.ts';
import { createWindow, useWindowChanged } from './queries.ts';
import { RecurrenceFields } from './recurrence-fields.tsx';
import { ScheduleFields } from './schedule-fields.tsx';
import { WindowPreview } from './window-preview.tsx';
import { newValues, toBody, useWindowForm } from './window-values.ts';
import type { WindowValues } from './window-values.ts';

interface WindowFormProps {
  readonly initialValues: WindowValues;
  /** The window that is being changed; null: a new one. */
  readonly windowId: string | null;
  /** As "Create window". */
  readonly action: string;
  readonly save: (values: WindowValues) => Promise<unknown>;
  readonly onCancel: () => void;
}

/** The fields of a maintenance window, and beside them what it will do. */
export function WindowForm({ windowId, ...props }: WindowFormProps): ReactNode {
  const { action, save, onCancel } = props;
  const [initialValues] = useState(props.initialValues);
  const form = useWindowForm(initialValues);
  return (
    <SaveForm form={form} action={action} save={save} onCancel={onCancel}>
      <Grid>
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Stack>
            <Panel title="What and when">
              <Stack>
                <TextInput
                  label="Name"
                  description="As people know it, such as “Database upgrade”."
                  required
                  autoComplete="off"
                  {...form.getInputProps('name')}
                />
                <ScheduleFields form={form} />
                <RecurrenceFields form={form} />
              </Stack>
            </Panel>
            <Panel title="Which monitors">
              <MonitorSelect
                label="Monitors"
                value={form.values.monitorIds}
                onChange={(ids) => form.setFieldValue('monitorIds', ids)}
                error={errorsUnder(form.errors, 'monitorIds')}
              />
            </Panel>
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <WindowPreview values={form.values} windowId={windowId} />
        </Grid.Col>
      </Grid>
    </SaveForm>
  );
}

const route = getRouteApi('/signed-in/maintenance/new');

export function NewMaintenanceWindowPage(): ReactNode {
  const { monitorId } = route.useSearch();
  const navigate = useNavigate();
  const changed = useWindowChanged();
  const [initialValues] = useState(() =>
    newValues(monitorId === undefined ? [] : [monitorId], readerZone(), Date.now()),
  );
  return (
    <>
      <PageHeader
        title="New maintenance window"
        hint="While it runs, checks of its monitors go on and nothing alerts."
      />
      <WindowForm
        initialValues={initialValues}
        windowId={null}
        action="Create window"
        save={async (values) => {
          const window = await createWindow(toBody(values));
          changed(window);
          notifications.show({ message: `${window.name} is planned.` });
          await navigate({ to: '/maintenance/$windowId', params: { windowId: window.id } });
        }}
        onCancel={() => void navigate({ to: '/maintenance' })}
      />
    </>
  );
}
