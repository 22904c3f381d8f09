import { Group, Radio, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPencil } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { type Channel, type ChannelInput, createChannelSchema } from '@tocsin/contracts/channels/channel';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { MonitorNames, MonitorSelect } from '../components/monitor-select.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { SaveForm, type SaveFormProps } from '../components/save-form.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { describeMonitors } from './channel-text.ts';
import { Facts } from './delivery-details.tsx';
import { channelQuery, channelsQuery } from './queries.ts';
import { SecretDialog } from './signing-secret.tsx';

const MAX_NAMES = 12;

/** The settings of a channel, and the form to change them. */
export function ChannelSettings({ channel }: { readonly channel: Channel }): ReactNode {
  const [editing, setEditing] = useState(false);
  const refresh = useRefresh();
  const { id, name, url, monitorIds, allMonitors, selector, events } = channel;
  if (editing)
    return (
      <Panel title="Settings">
        <ChannelForm
          initialValues={{ name, url, monitorIds, allMonitors, selector, events }}
          action="Save"
          save={async (body) => {
            await api('PATCH /api/dashboard/channels/:id', { id, body });
            await refresh(channelsQuery, channelQuery(id));
            setEditing(false);
            notifications.show({ message: 'Channel saved.' });
          }}
          onCancel={() => setEditing(false)}
        />
      </Panel>
    );
  return (
    <Panel
      title="Settings"
      actions={
        <IconButton size="xs" icon={IconPencil} onClick={() => setEditing(true)}>
          Edit
        </IconButton>
      }
    >
      <Facts
        facts={{
          URL: url,
          Monitors: (
            <>
              {describeMonitors(channel)}
              {!allMonitors && monitorIds.length > 0 && (
                <Quiet>
                  <MonitorNames ids={monitorIds} max={MAX_NAMES} />
                </Quiet>
              )}
            </>
          ),
          Created: <Time value={channel.createdAt} />,
        }}
      />
    </Panel>
  );
}

const EMPTY = { name: '', url: '', monitorIds: [], allMonitors: true, selector: null, events: null };

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

interface ChannelFormProps extends Omit<SaveFormProps<ChannelInput>, 'form' | 'children'> {
  readonly initialValues: ChannelInput;
}

function ChannelForm({ initialValues, ...rest }: ChannelFormProps): ReactNode {
  const form = useApiForm<ChannelInput>({
    initialValues,
    validate: (values) => bodyErrors(createChannelSchema, values),
  });
  const { allMonitors } = form.values;
  return (
    <SaveForm form={form} {...rest}>
      <Stack maw={640}>
        <TextInput label="Name" description="Such as “On call”." required {...form.getInputProps('name')} />
        <TextInput
          label="URL"
          description="Webhooks are sent to this HTTPS URL. It must not contain a user name or password."
          placeholder="https://alerts.example.com/tocsin"
          type="url"
          inputMode="url"
          required
          {...form.getInputProps('url')}
        />
        <Radio.Group
          label="Send alerts for"
          value={allMonitors ? 'all' : 'chosen'}
          onChange={(value) => form.setFieldValue('allMonitors', value === 'all')}
        >
          <Group mt={6}>
            <Radio value="all" label="All monitors, including future ones" />
            <Radio value="chosen" label="Selected monitors" />
          </Group>
        </Radio.Group>
        {!allMonitors && <MonitorSelect {...form.getInputProps('monitorIds')} />}
      </Stack>
    </SaveForm>
  );
}
