import { Checkbox, Group, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconPencil } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { type Channel, type ChannelInput, createChannelSchema } from '@tocsin/contracts/channels/channel';
import type { FieldError } from '@tocsin/contracts/errors';
import { WEBHOOK_EVENTS } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { bodyErrors, changedFields, useApiForm } from '../components/form.ts';
import { Facts } from '../components/facts.tsx';
import { formatSpan } from '../components/format.ts';
import { repeatedNames, toHeaderField } from '../components/header-rows.ts';
import { PageHeader, Panel } from '../components/page.tsx';
import { SaveForm, type SaveFormProps } from '../components/save-form.tsx';
import { Time } from '../components/text.tsx';
import {
  type CoverageValues,
  findSelectorErrors,
  toCoverage,
  toCoverageField,
  toCoverageValues,
} from '../labels/coverage.ts';
import { CoverageFields, CoverageSummary } from '../labels/coverage-fields.tsx';
import { describeEvents, EVENT_LABELS } from './channel-text.ts';
import { FormatFields } from './format-fields.tsx';
import { FORMAT_LABELS, type FormatValues, toFormat, toFormatValues } from './format-values.ts';
import { channelQuery, channelsQuery } from './queries.ts';
import { SecretDialog } from './signing-secret.tsx';
import { useCan } from '../session/session.ts';

export function ChannelSettings({ channel }: { readonly channel: Channel }): ReactNode {
  const [editing, setEditing] = useState(false);
  const can = useCan();
  const refresh = useRefresh();
  const { id, name, url, events, externalId, source, format, headers, remindAfter } = channel;
  if (editing) {
    const before = { name, url, events, ...toFormatValues(channel), ...toCoverageValues(channel) };
    return (
      <Panel title="Settings">
        <ChannelForm
          initialValues={before}
          action="Save"
          save={async (values) => {
            const body = changedFields(toBody(before), toBody(values));
            // The form shows a selector without conditions as "All monitors", so both change together.
            const coverage = body.allMonitors === undefined ? {} : toCoverage(values);
            await api('PUT /api/dashboard/channels/:id', { id, body: { ...body, ...coverage } });
            await refresh(channelsQuery, channelQuery(id));
            setEditing(false);
            notifications.show({ message: 'Channel saved.' });
          }}
          onCancel={() => setEditing(false)}
        />
      </Panel>
    );
  }
  return (
    <Panel
      title="Settings"
      actions={
        can.change && (
          <IconButton size="xs" icon={IconPencil} onClick={() => setEditing(true)}>
            Edit
          </IconButton>
        )
      }
    >
      <Facts
        facts={{
          URL: url,
          Monitors: <CoverageSummary coverage={channel} />,
          Events: describeEvents(events),
          Format: FORMAT_LABELS[format],
          Headers: headers && Object.keys(headers).join(', '),
          Reminders: remindAfter && `Every ${formatSpan(remindAfter)} while a monitor stays down`,
          'External ID': externalId,
          Source: source,
          Created: <Time value={channel.createdAt} />,
        }}
      />
    </Panel>
  );
}

const EMPTY: ChannelValues = {
  name: '',
  url: '',
  monitorIds: [],
  allMonitors: true,
  selector: '',
  events: null,
  format: 'standard',
  template: '',
  headers: [],
  routingKey: '',
  remindAfter: '',
};

export function NewChannelPage(): ReactNode {
  const navigate = useNavigate();
  const refresh = useRefresh();
  const [created, setCreated] = useState<{ channel: Channel; secret: string } | null>(null);
  return (
    <>
      <PageHeader title="New channel" hint="An HTTPS URL that receives alerts" />
      <Panel>
        <ChannelForm
          initialValues={EMPTY}
          action="Create channel"
          save={async (values) => {
            setCreated(await api('POST /api/dashboard/channels', { body: toBody(values) }));
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

type ChannelValues = CoverageValues & FormatValues & Pick<ChannelInput, 'name' | 'url' | 'events'>;

function toBody(values: ChannelValues) {
  const { name, url, events } = values;
  return { name, url, events, ...toFormat(values), ...toCoverage(values) };
}

function findErrors(values: ChannelValues): FieldError[] {
  return [
    ...findSelectorErrors(values),
    ...(values.events?.length === 0 ? [{ path: 'events', message: 'Select at least one event.' }] : []),
    ...bodyErrors(createChannelSchema, toBody(values)).map((error) => toHeaderField(error, values.headers)),
    ...repeatedNames(values.headers),
  ];
}

function toField(error: FieldError, { headers }: ChannelValues): FieldError {
  return toCoverageField(toHeaderField(error, headers));
}

interface ChannelFormProps extends Omit<SaveFormProps<ChannelValues>, 'form' | 'children'> {
  readonly initialValues: ChannelValues;
}

function ChannelForm({ initialValues, ...rest }: ChannelFormProps): ReactNode {
  const form = useApiForm<ChannelValues>({ initialValues, validate: findErrors, toField });
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
        <CoverageFields label="Send alerts for" form={form} />
        <Checkbox.Group
          label="Events"
          description="Test events are always sent."
          error={form.errors['events']}
          value={form.values.events ?? [...WEBHOOK_EVENTS]}
          onChange={(chosen) => {
            const events = WEBHOOK_EVENTS.filter((event) => chosen.includes(event));
            form.setFieldValue('events', events.length === WEBHOOK_EVENTS.length ? null : events);
          }}
        >
          <Group mt={6} mb={4}>
            {WEBHOOK_EVENTS.map((event) => (
              <Checkbox key={event} value={event} label={EVENT_LABELS[event]} />
            ))}
          </Group>
        </Checkbox.Group>
        <FormatFields form={form} />
      </Stack>
    </SaveForm>
  );
}
