import { Alert, Button, Group, Modal, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { createApiKeySchema } from '@tocsin/contracts/api-keys/api-key';
import type { z } from 'zod';
import { type ReactNode, useId } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { CodeBlock } from '../components/code-block.tsx';
import { useApiForm } from '../components/form.ts';
import { SaveForm } from '../components/save-form.tsx';
import { apiKeysQuery } from '../people/queries.ts';

/** In days. */
const LIFETIMES = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
  { value: 'never', label: 'Never' },
];
const DAY_MS = 24 * 3_600_000;

type NewApiKey = z.input<typeof createApiKeySchema>;

interface CreateApiKeyProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** Asks for a name and a lifetime, then shows the key once. */
export function CreateApiKey({ opened, onClose }: CreateApiKeyProps): ReactNode {
  const refresh = useRefresh();
  const create = useMutation({
    mutationFn: (body: NewApiKey) => api('POST /api/dashboard/api-keys', { body }),
    // The key must not stay in memory after the dialog is closed.
    gcTime: 0,
    onSuccess: () => refresh(apiKeysQuery),
  });
  const close = (): void => {
    create.reset();
    onClose();
  };
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={create.data ? 'Your new API key' : 'New API key'}
      size="lg"
      // A stray key or click must not lose the key, which is shown only once.
      closeOnClickOutside={create.isIdle}
      closeOnEscape={create.isIdle}
      withCloseButton={create.isIdle || create.isError}
    >
      {create.data ? (
        <NewKey apiKey={create.data.key} onDone={close} />
      ) : (
        <ApiKeyForm
          save={async (input) => void (await create.mutateAsync(input))}
          onCancel={create.isPending ? null : close}
        />
      )}
    </Modal>
  );
}

function toBody({ name, lifetime }: { readonly name: string; readonly lifetime: string }): NewApiKey {
  if (lifetime === 'never') return { name };
  return { name, expiresAt: new Date(Date.now() + Number(lifetime) * DAY_MS).toISOString() };
}

interface ApiKeyFormProps {
  readonly save: (input: NewApiKey) => Promise<void>;
  readonly onCancel: (() => void) | null;
}

function ApiKeyForm({ save, onCancel }: ApiKeyFormProps): ReactNode {
  const lifetimeLabel = useId();
  const form = useApiForm({
    schema: createApiKeySchema,
    initialValues: { name: '', lifetime: '365' },
    toBody,
  });
  return (
    <SaveForm form={form} action="Create" save={(values) => save(toBody(values))} onCancel={onCancel} dialog>
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
    </SaveForm>
  );
}

function NewKey({ apiKey, onDone }: { readonly apiKey: string; readonly onDone: () => void }): ReactNode {
  return (
    <Stack>
      <Alert color="yellow" role="alert">
        Copy the key now. You cannot see it again, but you can create a new one.
      </Alert>
      <CodeBlock code={apiKey} what="the key" />
      <Text size="sm">Try it:</Text>
      <CodeBlock
        code={`curl -H 'Authorization: Bearer ${apiKey}' ${window.location.origin}/api/cli/monitors`}
        what="the command"
      />
      <Group justify="flex-end">
        <Button onClick={onDone}>I have copied it</Button>
      </Group>
    </Stack>
  );
}
