import { Alert, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { createApiKeySchema } from '@tocsin/contracts/api-keys/api-key';
import { type ReactNode, useId } from 'react';
import type { z } from 'zod';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { CodeBlock } from '../components/buttons.tsx';
import { CreateDialog } from '../components/create-dialog.tsx';
import { useApiForm } from '../components/form.ts';
import { apiKeysQuery } from '../people/queries.ts';

/** In days. */
const LIFETIMES = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
  { value: 'never', label: 'Never' },
];
const DAY_MS = 24 * 3_600_000;

interface CreateApiKeyProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** Asks for a name and a lifetime, then shows the key once. */
export function CreateApiKey({ opened, onClose }: CreateApiKeyProps): ReactNode {
  const refresh = useRefresh();
  const lifetimeLabel = useId();
  const form = useApiForm({
    schema: createApiKeySchema,
    initialValues: { name: '', lifetime: '365' },
    toBody,
  });
  return (
    <CreateDialog
      opened={opened}
      onClose={onClose}
      size="lg"
      title="New API key"
      form={form}
      action="Create"
      create={async (values) => {
        const { key } = await api('POST /api/dashboard/api-keys', { body: toBody(values) });
        void refresh(apiKeysQuery);
        return key;
      }}
      resultTitle="Your new API key"
      renderResult={(key) => <NewKey apiKey={key} />}
      done="I have copied it"
    >
      <TextInput
        label="Name"
        description="What uses the key, such as “terraform production” or “CI of the shop”."
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Stack gap={4}>
        <Text size="sm" fw={500} id={lifetimeLabel}>
          Expires after
        </Text>
        <SegmentedControl
          aria-labelledby={lifetimeLabel}
          data={LIFETIMES}
          {...form.getInputProps('lifetime')}
        />
      </Stack>
    </CreateDialog>
  );
}

function toBody({
  name,
  lifetime,
}: {
  readonly name: string;
  readonly lifetime: string;
}): z.input<typeof createApiKeySchema> {
  if (lifetime === 'never') return { name };
  return { name, expiresAt: new Date(Date.now() + Number(lifetime) * DAY_MS).toISOString() };
}

function NewKey({ apiKey }: { readonly apiKey: string }): ReactNode {
  return (
    <>
      <Alert color="yellow" role="alert">
        Copy the key now. You cannot see it again, but you can create a new one.
      </Alert>
      <CodeBlock code={apiKey} what="the key" />
      <Text size="sm">Try it:</Text>
      <CodeBlock
        code={`curl -H 'Authorization: Bearer ${apiKey}' ${window.location.origin}/api/cli/monitors`}
        what="the command"
      />
    </>
  );
}
