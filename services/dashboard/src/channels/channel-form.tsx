import { Group, Radio, Stack, TextInput } from '@mantine/core';
import { createChannelSchema, type ChannelInput } from '@tocsin/contracts/channel';
import type { ReactNode } from 'react';
import { errorsUnder } from '../components/errors-under.ts';
import { MonitorSelect } from '../components/monitor-select.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { useApiForm } from '../components/use-api-form.ts';

interface ChannelFormProps {
  readonly initialValues: ChannelInput;
  /** As "Create channel". */
  readonly action: string;
  readonly save: (input: ChannelInput) => Promise<unknown>;
  readonly onCancel: () => void;
}

/** The fields of a channel, new or not. */
export function ChannelForm({ initialValues, ...rest }: ChannelFormProps): ReactNode {
  const form = useApiForm<ChannelInput>({ schema: createChannelSchema, initialValues });
  const { allMonitors, monitorIds } = form.values;
  return (
    <SaveForm form={form} {...rest}>
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
      </Stack>
    </SaveForm>
  );
}
