import { ActionIcon, Badge, Button, Skeleton, Table, Text, Tooltip } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconKey, IconPlus, IconTrash } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ApiKey } from '@tocsin/contracts/api-keys/api-key';
import { type ReactNode, useState } from 'react';
import { CardCell, CardTable } from '../components/card-table.tsx';
import { ConfirmByName } from '../components/confirm-by-name.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { Time, useNow } from '../components/time.tsx';
import { CreateApiKey } from './create-api-key.tsx';
import { apiKeysQuery, deleteApiKey } from './queries.ts';

/** Keys for machines. Each is shown once, when it is made. */
export function ApiKeysPage(): ReactNode {
  const query = useQuery(apiKeysQuery);
  const [creating, setCreating] = useState(false);
  const create = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
      New API key
    </Button>
  );
  return (
    <>
      <PageHeader
        title="API keys"
        hint="For pipelines and tools that create monitors and read results."
        actions={create}
      />
      <Loaded query={query} pending={<Skeleton h={220} />}>
        {(keys) =>
          keys.length === 0 ? (
            <EmptyState icon={IconKey} title="No API keys yet" action={create}>
              A key lets a pipeline, a script or the <code>tocsin</code> command manage monitors. Make one for
              each of them, so that each can be taken away by itself.
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

const COLUMNS = ['Name', 'Scope', 'Last used', 'Expires', 'Created by', 'Created', 'Actions'];

export function ApiKeyTable({ keys }: { readonly keys: readonly ApiKey[] }): ReactNode {
  const [doomed, setDoomed] = useState<ApiKey | null>(null);
  return (
    <Panel>
      <CardTable label="API keys" columns={COLUMNS}>
        {keys.map((key) => (
          <ApiKeyRow key={key.id} apiKey={key} onDelete={() => setDoomed(key)} />
        ))}
      </CardTable>
      <DeleteApiKey apiKey={doomed} onClose={() => setDoomed(null)} />
    </Panel>
  );
}

function ApiKeyRow({
  apiKey,
  onDelete,
}: {
  readonly apiKey: ApiKey;
  readonly onDelete: () => void;
}): ReactNode {
  const { name, scopes, lastUsedAt, expiresAt, createdBy, createdAt } = apiKey;
  return (
    <Table.Tr>
      <CardCell column="Name" heading>
        {name}
      </CardCell>
      <CardCell column="Scope">{scopes === 'read' ? 'read' : 'read and write'}</CardCell>
      <CardCell column="Last used">
        {lastUsedAt === null ? <Quiet>never</Quiet> : <Time value={lastUsedAt} as="ago" />}
      </CardCell>
      <CardCell column="Expires">
        <Expiry at={expiresAt} />
      </CardCell>
      <CardCell column="Created by">
        {createdBy === null ? <Quiet>not recorded</Quiet> : <Creator {...createdBy} />}
      </CardCell>
      <CardCell column="Created">
        <Time value={createdAt} as="ago" />
      </CardCell>
      <CardCell column="Actions">
        <Tooltip label="Delete">
          <ActionIcon variant="subtle" color="gray" onClick={onDelete} aria-label={`Delete the key ${name}`}>
            <IconTrash size={18} aria-hidden />
          </ActionIcon>
        </Tooltip>
      </CardCell>
    </Table.Tr>
  );
}

function Expiry({ at }: { readonly at: string | null }): ReactNode {
  const now = useNow(at !== null);
  if (at === null) return <Quiet>never</Quiet>;
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

function Creator({ name, email, removed }: NonNullable<ApiKey['createdBy']>): ReactNode {
  return (
    <>
      <Tooltip label={email} disabled={email === null}>
        <Text component="span" size="sm">
          {name}
        </Text>
      </Tooltip>
      {removed && (
        <Badge color="orange" variant="light" ml={6}>
          Removed
        </Badge>
      )}
    </>
  );
}

function Quiet({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <Text component="span" size="sm" c="var(--text-quiet)">
      {children}
    </Text>
  );
}

function DeleteApiKey({
  apiKey,
  onClose,
}: {
  readonly apiKey: ApiKey | null;
  readonly onClose: () => void;
}): ReactNode {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: ({ id }: ApiKey) => deleteApiKey(id),
    onSuccess: async (_, { name }) => {
      await queryClient.invalidateQueries({ queryKey: apiKeysQuery.queryKey });
      notifications.show({
        message: `The key “${name}” is deleted: requests with it are refused from now on.`,
      });
      onClose();
    },
  });
  return (
    <ConfirmByName
      title="Delete API key"
      name={apiKey?.name ?? ''}
      opened={apiKey !== null}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => apiKey && remove.mutate(apiKey)}
      onClose={() => {
        remove.reset();
        onClose();
      }}
    >
      Whatever uses this key is refused from its next request on. A deleted key cannot be brought back.
    </ConfirmByName>
  );
}
