import { NativeSelect, NumberInput, PasswordInput, Stack, Text, Textarea } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { LIMITS } from '@tocsin/contracts/limits';
import { CHANNEL_FORMATS, WEBHOOK_EVENTS, type WebhookEvent } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { api, ApiError, describeError } from '../api/request.ts';
import { TextBlock } from '../components/code.tsx';
import { type HeaderForm, HeaderList } from '../components/header-list.tsx';
import { EVENT_LABELS, prettyPayload } from './channel-text.ts';
import { FORMAT_LABELS, type FormatValues } from './format-values.ts';

const PREVIEW_AFTER_MS = 400;
const MONOSPACE = { input: { fontFamily: 'var(--mantine-font-family-monospace)' } };

interface FormatFieldsProps {
  readonly form: HeaderForm & { readonly values: FormatValues };
}

export function FormatFields({ form }: FormatFieldsProps): ReactNode {
  const { format, template } = form.values;
  return (
    <>
      <NativeSelect
        label="Format"
        description="The body of the webhooks."
        data={CHANNEL_FORMATS.map((value) => ({ value, label: FORMAT_LABELS[value] }))}
        {...form.getInputProps('format')}
      />
      {format === 'custom' && (
        <Textarea
          label="Template"
          description="A Liquid template of a JSON document. The filter json quotes and escapes a value."
          placeholder={'{ "text": {{ monitorName | json }}, "status": {{ status | json }} }'}
          autosize
          minRows={4}
          maxRows={20}
          spellCheck={false}
          styles={MONOSPACE}
          required
          {...form.getInputProps('template')}
        />
      )}
      {format === 'pagerduty' && (
        <PasswordInput
          label="Routing key"
          description="The integration key of a PagerDuty service with Events API v2."
          autoComplete="new-password"
          required
          {...form.getInputProps('routingKey')}
        />
      )}
      <FormatPreview format={format} template={template} />
      <HeaderList
        form={form}
        label="Headers"
        description="Additional request headers. The values are stored encrypted."
        error={form.errors['headers']}
      />
      <NumberInput
        label="Remind after (seconds)"
        description="Send “Monitor down” again this often, until the monitor recovers or its incident is acknowledged."
        placeholder="No reminders"
        clampBehavior="none"
        allowDecimal={false}
        step={300}
        {...LIMITS.remindAfterSeconds}
        {...form.getInputProps('remindAfter')}
      />
    </>
  );
}

/** Shows the body of each event with sample values. */
function FormatPreview({ format, template }: Pick<FormatValues, 'format' | 'template'>): ReactNode {
  const [event, setEvent] = useState<WebhookEvent>('monitor.down');
  const [body] = useDebouncedValue(
    { format, template: format === 'custom' ? template : null },
    PREVIEW_AFTER_MS,
  );
  const { data, error } = useQuery({
    queryKey: ['channelPreview', body.format, body.template],
    queryFn: async ({ signal }) =>
      (await api('POST /api/dashboard/channels/preview', { body, signal })).previews,
    enabled: body.template !== '',
    ...(body.template !== '' && { placeholderData: keepPreviousData }),
    retry: false,
    staleTime: Infinity,
  });
  const [invalid] = error instanceof ApiError ? error.fields : [];
  const shown = data?.find((preview) => preview.event === event)?.body;
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Preview with sample values"
        data={WEBHOOK_EVENTS.map((value) => ({ value, label: EVENT_LABELS[value] }))}
        value={event}
        onChange={({ currentTarget: { value } }) =>
          setEvent(WEBHOOK_EVENTS.find((one) => one === value) ?? event)
        }
      />
      {error !== null ? (
        <Text size="sm" role="status" style={{ overflowWrap: 'anywhere' }}>
          {invalid === undefined ? describeError(error) : `The template ${invalid.message}`}
        </Text>
      ) : (
        <TextBlock label="Preview" mah={280} mih={44}>
          {shown === undefined ? '' : prettyPayload(shown)}
        </TextBlock>
      )}
    </Stack>
  );
}
