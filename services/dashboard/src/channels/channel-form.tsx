import { Group, Radio, Stack, TextInput } from '@mantine/core';
import { createChannelSchema, type Channel, type ChannelInput } from '@tocsin/contracts/channel';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { errorsUnder } from '../components/errors-under.ts';
import { MonitorSelect } from '../components/monitor-select.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { useApiForm } from '../components/use-api-form.ts';
import { createChannel, useChannelChanged } from './queries.ts';
import { SecretDialog } from './signing-secret.tsx';

const EMPTY = { name: '', url: '', monitorIds: [], allMonitors: true };

export function NewChannelPage(): ReactNode {
  const navigate = useNavigate();
  const showChannel = useChannelChanged();
  const [created, setCreated] = useState<{ channel: Channel; secret: string } | null>(null);
  return (
    <>
      <PageHeader title="New channel" hint="An HTTPS URL that receives alerts." />
      <Panel>
        <ChannelForm
          initialValues={EMPTY}
          action="Create channel"
          save={async (input) => {
            const response = await createChannel(input);
            showChannel(response.channel);
            setCreated(response);
          }}
          onCancel={() => void navigate({ to: '/channels' })}
        />
      </Panel>
      <SecretDialog
        title="Channel created: store its signing secret"
        secret={created?.secret ?? null}
        onClose={() => {
          if (created !== null)
            void navigate({ to: '/channels/$channelId', params: { channelId: created.channel.id } });
        }}
      />
    </>
  );
}

interface ChannelFormProps {
  readonly initialValues: ChannelInput;
  /** The label of the submit button. */
  readonly action: string;
  readonly save: (input: ChannelInput) => Promise<unknown>;
  readonly onCancel: () => void;
}

export function ChannelForm({ initialValues, ...rest }: ChannelFormProps): ReactNode {
  const form = useApiForm<ChannelInput>({ schema: createChannelSchema, initialValues });
  const { allMonitors, monitorIds } = form.values;
  return (
    <SaveForm form={form} {...rest}>
      <Stack maw={640}>
        <TextInput
          label="Name"
          description="Such as “On call”."
          required
          autoComplete="off"
          {...form.getInputProps('name')}
        />
        <TextInput
          label="URL"
          description="Webhooks are sent to this HTTPS URL. It must not contain a user name or password."
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
            <Radio value="all" label="All monitors, including future ones" />
            <Radio value="chosen" label="Selected monitors" />
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
