import { Group, Radio, Stack, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type Channel, type ChannelInput, createChannelSchema } from '@tocsin/contracts/channels/channel';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { bodyErrors, errorsUnder, useApiForm } from '../components/form.ts';
import { MonitorSelect } from '../components/monitor-select.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { channelsQuery } from './queries.ts';
import { SecretDialog } from './signing-secret.tsx';

const EMPTY = { name: '', url: '', monitorIds: [], allMonitors: true };

export function NewChannelPage(): ReactNode {
  const navigate = useNavigate();
  const refresh = useRefresh();
  const [created, setCreated] = useState<{ channel: Channel; secret: string } | null>(null);
  return (
    <>
      <PageHeader title="New channel" hint="An HTTPS URL that receives alerts." />
      <Panel>
        <ChannelForm
          initialValues={EMPTY}
          action="Create channel"
          save={async (body) => {
            setCreated(await api('POST /api/dashboard/channels', { body }));
            void refresh(channelsQuery);
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
  const form = useApiForm<ChannelInput>({
    initialValues,
    validate: (values) => bodyErrors(createChannelSchema, values),
  });
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
