import { Alert, Badge, NativeSelect, Radio, Stack, TagsInput, Text, TextInput, Tooltip } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type ApiKey, createApiKeySchema } from '@tocsin/contracts/api-keys/api-key';
import { IconKey, IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { CodeBlock } from '../components/code.tsx';
import { ConfirmButton, ResultDialog } from '../components/dialogs.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable } from '../components/data-table.tsx';
import { EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { Quiet, Time, useNow } from '../components/text.tsx';
import { apiKeysQuery } from '../people/queries.ts';

/** In days. */
const LIFETIMES = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
  { value: 'never', label: 'Never' },
];
const DAY_MS = 24 * 3_600_000;
const SCOPE_LABELS: Readonly<Record<ApiKey['scopes'], string>> = {
  'read,write': 'Read and write',
  read: 'Read only',
  write: 'Read and write',
};

export function ApiKeysPage(): ReactNode {
  const query = useQuery(apiKeysQuery);
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<string | null>(null);
  const create = (
    <IconButton variant="filled" icon={IconPlus} onClick={() => setCreating(true)}>
      New API key
    </IconButton>
  );
  const empty = (
    <EmptyState icon={IconKey} title="No API keys yet" action={create}>
      A key lets a pipeline, a script or the <code>tocsin</code> command manage monitors. Create one for each
      to revoke them separately.
    </EmptyState>
  );
  const close = (): void => {
    setCreating(false);
    setCreated(null);
  };
  return (
    <>
      <PageHeader
        title="API keys"
        hint="Access for pipelines, scripts and the command line"
        actions={query.data?.length !== 0 && create}
      />
      <Loaded query={query} pending={<Placeholder heights={[220]} />} empty={empty}>
        {(keys) => (
          <Panel>
            <DataTable
              label="API keys"
              rows={keys}
              rowKey={({ id }) => id}
              columns={{
                Name: ({ name }) => name,
                Scope: ({ scopes }) => SCOPE_LABELS[scopes],
                Sources: ({ sources, scopes }) => <Sources sources={scopes === 'read' ? [] : sources} />,
                'Last used': ({ lastUsedAt }) =>
                  lastUsedAt === null ? <Quiet inline>Never</Quiet> : <Time value={lastUsedAt} as="ago" />,
                Expires: ({ expiresAt }) => <Expiry at={expiresAt} />,
                'Created by': ({ createdBy }) => <Creator creator={createdBy} />,
                Created: ({ createdAt }) => <Time value={createdAt} as="ago" />,
                Actions: (key) => <DeleteKey apiKey={key} />,
              }}
            />
          </Panel>
        )}
      </Loaded>
      <ResultDialog
        size="lg"
        opened={creating || created !== null}
        title={created === null ? 'New API key' : 'Your new API key'}
        result={created && <NewKey apiKey={created} />}
        done="Done"
        onClose={close}
      >
        <ApiKeyForm onCreated={setCreated} onCancel={close} />
      </ResultDialog>
    </>
  );
}

function DeleteKey({ apiKey: { id, name } }: { readonly apiKey: ApiKey }): ReactNode {
  const refresh = useRefresh();
  const remove = async (): Promise<void> => {
    await api('DELETE /api/dashboard/api-keys/:id', { id });
    await refresh(apiKeysQuery);
    notifications.show({ message: `API key “${name}” deleted. Requests with it are now rejected.` });
  };
  return (
    <ConfirmButton
      button={{ icon: IconTrash, hint: 'Delete', label: `Delete the key ${name}` }}
      title="Delete API key"
      action="Delete"
      name={name}
      onConfirm={remove}
    >
      Requests with this key are rejected immediately. You cannot restore a deleted key.
    </ConfirmButton>
  );
}

function Expiry({ at }: { readonly at: string | null }): ReactNode {
  const now = useNow(at !== null);
  if (at === null) return <Quiet inline>Never</Quiet>;
  if (new Date(at).getTime() > now) return <Time value={at} />;
  return (
    <>
      <Badge color="red" variant="light" mr="xs">
        Expired
      </Badge>
      <Time value={at} as="ago" />
    </>
  );
}

/** Sources that a key may change. @param props.sources null for all, empty for none */
function Sources({ sources }: { readonly sources: ApiKey['sources'] }): ReactNode {
  if (sources === null) return 'All';
  return sources.length === 0 ? <Quiet inline>None</Quiet> : sources.join(', ');
}

function Creator({ creator }: { readonly creator: ApiKey['createdBy'] }): ReactNode {
  if (creator === null) return <Quiet inline>Not recorded</Quiet>;
  return (
    <>
      <Tooltip label={creator.email} disabled={creator.email === null}>
        <span>{creator.name}</span>
      </Tooltip>
      {creator.removed && (
        <Badge color="orange" variant="light" ml="xs">
          Removed
        </Badge>
      )}
    </>
  );
}

type KeyValues = {
  readonly name: string;
  /** In days, or `never`. */
  readonly lifetime: string;
  readonly scopes: 'read' | 'read,write';
  /** Empty for all sources. */
  readonly sources: string[];
};

interface ApiKeyFormProps {
  readonly onCreated: (key: string) => void;
  readonly onCancel: () => void;
}

function ApiKeyForm({ onCreated, onCancel }: ApiKeyFormProps): ReactNode {
  const refresh = useRefresh();
  const initialValues: KeyValues = { name: '', lifetime: '365', scopes: 'read,write', sources: [] };
  const toBody = ({ name, lifetime, scopes, sources }: KeyValues) => ({
    name,
    scopes,
    sources: scopes === 'read' || sources.length === 0 ? null : sources,
    expiresAt: lifetime === 'never' ? null : new Date(Date.now() + Number(lifetime) * DAY_MS).toISOString(),
  });
  const form = useApiForm({
    initialValues,
    validate: (values) => bodyErrors(createApiKeySchema, toBody(values)),
  });
  const save = async (values: KeyValues): Promise<void> => {
    const { key } = await api('POST /api/dashboard/api-keys', { body: toBody(values) });
    onCreated(key);
    void refresh(apiKeysQuery);
  };
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
