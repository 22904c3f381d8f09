import { Badge, Tooltip } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconKey, IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { IconButton, RowButton } from '../components/buttons.tsx';
import { ConfirmDialog } from '../components/dialogs.tsx';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable, EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Quiet, Time, useNow } from '../components/text.tsx';
import { apiKeysQuery } from '../people/queries.ts';
import { CreateApiKey } from './create-api-key.tsx';

export function ApiKeysPage(): ReactNode {
  const query = useQuery(apiKeysQuery);
  const [creating, setCreating] = useState(false);
  const create = (
    <IconButton variant="filled" icon={IconPlus} onClick={() => setCreating(true)}>
      New API key
    </IconButton>
  );
  return (
    <>
      <PageHeader
        title="API keys"
        hint="For pipelines and tools that create monitors and read results."
        actions={create}
      />
      <Loaded query={query} pending={<Placeholder heights={[220]} />}>
        {(keys) =>
          keys.length === 0 ? (
            <EmptyState icon={IconKey} title="No API keys yet" action={create}>
              A key lets a pipeline, a script or the <code>tocsin</code> command manage monitors. Create one
              for each, so that you can revoke them separately.
            </EmptyState>
          ) : (
            <ApiKeyTable keys={keys} />
          )
        }
      </Loaded>
      <CreateApiKey opened={creating} onClose={() => setCreating(false)} />
    </>
  );
}

function ApiKeyTable({ keys }: { readonly keys: readonly ApiKey[] }): ReactNode {
  const refresh = useRefresh();
  const [deleting, setDeleting] = useState<ApiKey | null>(null);
  const remove = async (): Promise<void> => {
    if (deleting === null) return;
    await api('DELETE /api/dashboard/api-keys/:id', { id: deleting.id });
    await refresh(apiKeysQuery);
    notifications.show({ message: `API key “${deleting.name}” deleted. Requests with it are now rejected.` });
    setDeleting(null);
  };
  return (
    <Panel>
      <DataTable
        label="API keys"
        rows={keys}
        rowKey={({ id }) => id}
        columns={[
          { title: 'Name', render: ({ name }) => name },
          { title: 'Scope', render: ({ scopes }) => (scopes === 'read' ? 'read' : 'read and write') },
          {
            title: 'Last used',
            render: ({ lastUsedAt }) =>
              lastUsedAt === null ? <Quiet inline>never</Quiet> : <Time value={lastUsedAt} as="ago" />,
          },
          { title: 'Expires', render: ({ expiresAt }) => <Expiry at={expiresAt} /> },
          { title: 'Created by', render: ({ createdBy }) => <Creator creator={createdBy} /> },
          { title: 'Created', render: ({ createdAt }) => <Time value={createdAt} as="ago" /> },
          {
            title: 'Actions',
            render: (key) => (
              <RowButton
                icon={IconTrash}
                hint="Delete"
                label={`Delete the key ${key.name}`}
                onClick={() => setDeleting(key)}
              />
            ),
          },
        ]}
      />
      <ConfirmDialog
        opened={deleting !== null}
        title="Delete API key"
        action="Delete"
        name={deleting?.name ?? ''}
        onConfirm={remove}
        onClose={() => setDeleting(null)}
      >
        The next request with this key is rejected. You cannot restore a deleted key.
      </ConfirmDialog>
    </Panel>
  );
}

function Expiry({ at }: { readonly at: string | null }): ReactNode {
  const now = useNow(at !== null);
  if (at === null) return <Quiet inline>never</Quiet>;
  if (new Date(at).getTime() > now) return <Time value={at} />;
  return (
    <>
      <Badge color="red" variant="light" mr={6}>
        Expired
      </Badge>
      <Time value={at} as="ago" />
    </>
  );
}

function Creator({ creator }: { readonly creator: ApiKey['createdBy'] }): ReactNode {
  if (creator === null) return <Quiet inline>not recorded</Quiet>;
  return (
    <>
      <Tooltip label={creator.email} disabled={creator.email === null}>
        <span>{creator.name}</span>
      </Tooltip>
      {creator.removed && (
        <Badge color="orange" variant="light" ml={6}>
          Removed
        </Badge>
      )}
    </>
  );
}
