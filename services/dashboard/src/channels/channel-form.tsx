import { Button, Group, Radio, Stack, TextInput } from '@mantine/core';
import { createChannelSchema, type ChannelInput } from '@tocsin/contracts/channel';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isAboutFields } from '../api/api-error.ts';
import { ErrorNotice } from '../app/page-states.tsx';
import { errorsUnder } from '../components/errors-under.ts';
import { LeaveGuard } from '../components/leave-guard.tsx';
import { MonitorSelect } from '../components/monitor-select.tsx';
import { useApiForm } from '../components/use-api-form.ts';

interface ChannelFormProps {
  readonly initialValues: ChannelInput;
  /** As "Create channel". */
  readonly action: string;
  readonly save: (input: ChannelInput) => Promise<unknown>;
  readonly onCancel: () => void;
}

/** The fields of a channel, new or not. */
export function ChannelForm({ initialValues, action, save, onCancel }: ChannelFormProps): ReactNode {
  const form = useApiForm<ChannelInput>({ schema: createChannelSchema, initialValues });
  const { mutate, error, isPending, status } = useMutation({
    mutationFn: save,
    onError: (failure) => form.applyErrors(failure),
  });
  const { allMonitors, monitorIds } = form.values;
  return (
    <form
      noValidate
      onSubmit={form.onSubmit(
        (values) => mutate(values),
        (errors) => form.getInputNode(Object.keys(errors)[0] ?? '')?.focus(),
      )}
    >
      <LeaveGuard isDirty={() => form.isDirty() && (status === 'idle' || status === 'error')} />
      <Stack maw={640}>
        <TextInput
          label="Name"
          description="As people know it, such as “On call”."
          required
          autoComplete="off"
          {...form.getInputProps('name')}
        />
        <TextInput
          label="URL"
          description="Where the webhooks go: https, without a user name or password."
          placeholder="https://alerts.example.com/tocsin"
          type="url"
          inputMode="url"
          required
          autoComplete="off"
          {...form.getInputProps('url')}
        />
        <Radio.Group
          label="Which monitors"
          value={allMonitors ? 'all' : 'chosen'}
          onChange={(value) => form.setFieldValue('allMonitors', value === 'all')}
        >
          <Group mt={6}>
            <Radio value="all" label="All monitors, later ones too" />
            <Radio value="chosen" label="Chosen monitors" />
          </Group>
        </Radio.Group>
        {!allMonitors && (
          <MonitorSelect
            label="Monitors"
            value={monitorIds}
            onChange={(ids) => form.setFieldValue('monitorIds', ids)}
            error={errorsUnder(form.errors, 'monitorIds')}
          />
        )}
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
