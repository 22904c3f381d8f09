import { Badge, Tooltip } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { IconKey, IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { ConfirmButton } from '../components/dialogs.tsx';
import { Expiry, LastUsed } from '../components/lifetime.tsx';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable } from '../components/data-table.tsx';
import { EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { apiKeysQuery } from '../people/queries.ts';
import { useCan } from '../session/session.ts';
import { ApiKeyDialog } from './api-key-dialog.tsx';

const SCOPE_LABELS: Readonly<Record<ApiKey['scopes'], string>> = {
  'read,write': 'Read and write',
  read: 'Read only',
  write: 'Read and write',
};

export function ApiKeysPage(): ReactNode {
  const query = useQuery(apiKeysQuery);
  const refresh = useRefresh();
  const [creating, { open, close }] = useDisclosure();
  const can = useCan();
  const create = can.change && (
    <IconButton variant="filled" icon={IconPlus} onClick={open}>
      New API key
    </IconButton>
  );
  const empty = (
    <EmptyState icon={IconKey} title="No API keys yet" action={create}>
      A key lets a pipeline, a script or the <code>tocsin</code> command manage monitors. Create one for each
      to revoke them separately.
    </EmptyState>
  );
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
                'Last used': ({ lastUsedAt }) => <LastUsed at={lastUsedAt} />,
                Expires: ({ expiresAt }) => <Expiry at={expiresAt} />,
                'Created by': ({ createdBy }) => <Creator creator={createdBy} />,
                Created: ({ createdAt }) => <Time value={createdAt} as="ago" />,
                ...(can.change && { Actions: (key: ApiKey) => <DeleteKey apiKey={key} /> }),
              }}
            />
          </Panel>
        )}
      </Loaded>
      <ApiKeyDialog
        opened={creating}
        onClose={close}
        create={async (body) => {
          const created = await api('POST /api/dashboard/api-keys', { body });
          void refresh(apiKeysQuery);
          return created;
        }}
      />
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

/** Sources that a key may change. @param props.sources null for all, empty for none */
function Sources({ sources }: { readonly sources: ApiKey['sources'] }): ReactNode {
  if (sources === null) return 'All';
  return sources.length === 0 ? <Quiet inline>None</Quiet> : sources.join(', ');
}

function Creator({ creator }: { readonly creator: ApiKey['createdBy'] }): ReactNode {
  if (creator === null) return <Quiet inline>Settings or operator</Quiet>;
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
