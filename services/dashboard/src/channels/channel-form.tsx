import { Group, Radio, Stack, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ChannelInput, createChannelSchema } from '@tocsin/contracts/channels/channel';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { type ReactNode, useState } from 'react';
import { errorsUnder } from '../components/errors-under.ts';
import { MonitorSelect } from '../components/monitor-select.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { useApiForm } from '../components/use-api-form.ts';
import { channelQuery, channelsQuery, createChannel } from './queries.ts';
import { SecretModal } from './signing-secret.tsx';

const EMPTY = { name: '', url: '', monitorIds: [], allMonitors: true };

export function NewChannelPage(): ReactNode {
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [made, setMade] = useState<{ channel: Channel; secret: string } | null>(null);
  return (
    <>
      <PageHeader title="New channel" hint="An https address that is told of outages and recoveries." />
      <Panel>
        <ChannelForm
          initialValues={EMPTY}
          action="Create channel"
          save={async (input) => {
            const answer = await createChannel(input);
            queryClient.setQueryData(channelQuery(answer.channel.id).queryKey, answer.channel);
            void queryClient.invalidateQueries({ queryKey: channelsQuery.queryKey });
            setMade(answer);
          }}
          onCancel={() => void navigate({ to: '/channels' })}
        />
      </Panel>
      <SecretModal
        title="The channel is made: here is its signing secret"
        secret={made?.secret ?? null}
        onClose={() => {
          if (made !== null)
            void navigate({ to: '/channels/$channelId', params: { channelId: made.channel.id } });
        }}
      />
    </>
  );
}

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
