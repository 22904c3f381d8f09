import { NativeSelect, Radio, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { createApiKeySchema } from '@tocsin/contracts/api-keys/api-key';
import { type ReactNode, useState } from 'react';
import { CodeBlock, NewSecret } from '../components/code.tsx';
import { ResultDialog } from '../components/dialogs.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { expiryOf, LIFETIMES } from '../components/lifetime.tsx';
import { SaveForm } from '../components/save-form.tsx';

type KeyValues = {
  readonly name: string;
  /** A value of `LIFETIMES`. */
  readonly lifetime: string;
  readonly scopes: 'read' | 'read,write';
  /** Empty for all sources. */
  readonly sources: string[];
};

const EMPTY: KeyValues = { name: '', lifetime: '365', scopes: 'read,write', sources: [] };

function toBody({ name, lifetime, scopes, sources }: KeyValues) {
  return {
    name,
    scopes,
    sources: scopes === 'read' || sources.length === 0 ? null : sources,
    expiresAt: expiryOf(lifetime),
  };
}

interface ApiKeyDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly create: (body: ReturnType<typeof toBody>) => Promise<{ readonly key: string }>;
}

/** Creates an API key and shows it once. */
export function ApiKeyDialog({ opened, onClose, create }: ApiKeyDialogProps): ReactNode {
  const [created, setCreated] = useState<string | null>(null);
  const close = (): void => {
    setCreated(null);
    onClose();
  };
  return (
    <ResultDialog
      size="lg"
      opened={opened}
      title={created === null ? 'New API key' : 'Your new API key'}
      result={created && <NewKey apiKey={created} />}
      onClose={close}
    >
      <ApiKeyForm save={async (values) => setCreated((await create(toBody(values))).key)} onCancel={close} />
    </ResultDialog>
  );
}

interface ApiKeyFormProps {
  readonly save: (values: KeyValues) => Promise<void>;
  readonly onCancel: () => void;
}

function ApiKeyForm({ save, onCancel }: ApiKeyFormProps): ReactNode {
  const form = useApiForm({
    initialValues: EMPTY,
    validate: (values) => bodyErrors(createApiKeySchema, toBody(values)),
  });
  return (
    <SaveForm form={form} action="Create" save={save} onCancel={onCancel} layout="dialog">
      <TextInput
        label="Name"
        description="Such as “terraform production” or “shop CI”"
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Radio.Group label="Access" {...form.getInputProps('scopes')}>
        <Stack gap="xs" mt="xs">
          <Radio value="read,write" label="Read and write" />
          <Radio value="read" label="Read only" description="Without header values and request bodies" />
        </Stack>
      </Radio.Group>
      {form.values.scopes !== 'read' && (
        <TagsInput
          label="Sources"
          description="The key can change only these sources. A trailing * matches a prefix. Empty: all sources."
          placeholder={form.values.sources.length === 0 ? 'shop, team-a/*' : ''}
          {...form.getInputProps('sources')}
        />
      )}
      <NativeSelect label="Expires after" data={LIFETIMES} {...form.getInputProps('lifetime')} />
    </SaveForm>
  );
}

function NewKey({ apiKey }: { readonly apiKey: string }): ReactNode {
  return (
    <>
      <NewSecret secret={apiKey} what="the key" />
      <Text size="sm">Try it:</Text>
      <CodeBlock
        code={`curl -H 'Authorization: Bearer ${apiKey}' ${window.location.origin}/api/cli/monitors`}
        what="the command"
      />
    </>
  );
}
