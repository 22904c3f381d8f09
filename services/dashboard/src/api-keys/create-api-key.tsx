import { Alert, Button, Group, Modal, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { createApiKeySchema } from '@tocsin/contracts/api-keys/api-key';
import { type ReactNode, useId } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';
import { CodeBlock } from '../components/code-block.tsx';
import { useApiForm } from '../components/use-api-form.ts';
import { apiKeysQuery, createApiKey, type NewApiKey } from './queries.ts';

interface CreateApiKeyProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** Asks for a name and a lifetime, then shows the key for the only time. */
export function CreateApiKey({ opened, onClose }: CreateApiKeyProps): ReactNode {
  const queryClient = useQueryClient();
  const create = useMutation({
    mutationFn: createApiKey,
    // What it answers is nowhere once the dialog is closed.
    gcTime: 0,
    onSuccess: () => queryClient.invalidateQueries({ queryKey: apiKeysQuery.queryKey }),
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
      // What is shown once, or on its way, does not close by a stray key or click.
      closeOnClickOutside={create.isIdle}
      closeOnEscape={create.isIdle}
      withCloseButton={create.isIdle || create.isError}
    >
      {create.data ? (
        <NewKey apiKey={create.data.key} onDone={close} />
      ) : (
        <ApiKeyForm create={create} onCancel={close} />
      )}
    </Modal>
  );
}

function toBody({ name, lifetime }: { readonly name: string; readonly lifetime: Lifetime }): NewApiKey {
  const expiresAt = endOf(lifetime, Date.now());
  return { name, ...(expiresAt !== undefined && { expiresAt }) };
}

interface ApiKeyFormProps {
  readonly create: {
    readonly mutate: (input: NewApiKey, options: { onError: (error: unknown) => void }) => void;
    readonly isPending: boolean;
    readonly error: unknown;
  };
  readonly onCancel: () => void;
}

function ApiKeyForm({ create, onCancel }: ApiKeyFormProps): ReactNode {
  const lifetimeLabel = useId();
  const form = useApiForm({
    schema: createApiKeySchema,
    initialValues: { name: '', lifetime: '365' },
    toBody,
  });
  return (
    <form
      noValidate
      onSubmit={form.onSubmit((values) =>
        create.mutate(toBody(values), { onError: (error) => form.applyErrors(error) }),
      )}
    >
      <Stack>
        <TextInput
          label="Name"
          description="Who uses it, as “terraform production” or “CI of the shop”."
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
            data={[...LIFETIMES]}
            {...form.getInputProps('lifetime')}
          />
        </Stack>
        {create.error !== null && create.error !== undefined && <ErrorNotice error={create.error} />}
        <Group justify="flex-end">
          <Button variant="default" disabled={create.isPending} onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function NewKey({ apiKey, onDone }: { readonly apiKey: string; readonly onDone: () => void }): ReactNode {
  return (
    <Stack>
      <Alert color="yellow" variant="light" role="alert">
        This is the only time it is shown. Copy it to where it is used; it can be replaced, but not looked up.
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

/** Lifetimes to choose from, in days; null: never expires. */
const LIFETIMES = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
  { value: 'never', label: 'Never' },
] as const;
type Lifetime = (typeof LIFETIMES)[number]['value'];

const DAY_MS = 24 * 60 * 60 * 1_000;

/** When a key of this lifetime ends, ISO 8601; undefined: never. */
function endOf(lifetime: Lifetime, nowMs: number): string | undefined {
  return lifetime === 'never' ? undefined : new Date(nowMs + Number(lifetime) * DAY_MS).toISOString();
}
