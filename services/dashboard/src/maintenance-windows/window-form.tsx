import { Button, Grid, Group, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { isAboutFields } from '../api/api-error.ts';
import { ErrorNotice } from '../app/page-states.tsx';
import { errorsUnder } from '../components/errors-under.ts';
import { LeaveGuard } from '../components/leave-guard.tsx';
import { MonitorSelect } from '../components/monitor-select.tsx';
import { Panel } from '../components/panel.tsx';
import { RecurrenceFields } from './recurrence-fields.tsx';
import { ScheduleFields } from './schedule-fields.tsx';
import { useWindowForm } from './use-window-form.ts';
import { WindowPreview } from './window-preview.tsx';
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
export function WindowForm(props: WindowFormProps): ReactNode {
  const { windowId, action, save, onCancel } = props;
  const [initialValues] = useState(props.initialValues);
  const form = useWindowForm(initialValues);
  const { mutate, error, isPending, status } = useMutation({
    mutationFn: save,
    onError: (failure) => form.applyErrors(failure),
  });
  return (
    <form
      noValidate
      onSubmit={form.onSubmit(
        (values) => mutate(values),
        (errors) => form.getInputNode(Object.keys(errors)[0] ?? '')?.focus(),
      )}
    >
      <LeaveGuard isDirty={() => form.isDirty() && (status === 'idle' || status === 'error')} />
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
      <Stack mt="md">
        {error !== null && !isAboutFields(error) && <ErrorNotice error={error} />}
        <Group>
          <Button type="submit" loading={isPending}>
            {action}
          </Button>
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
