import { ActionIcon, Badge, Table, Text, Tooltip } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ApiKey } from '@tocsin/contracts/api-key';
import { IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { ConfirmByName } from '../components/confirm-by-name.tsx';
import { Panel } from '../components/panel.tsx';
import { Time, useNow } from '../components/time.tsx';
import { apiKeysQuery, deleteApiKey } from './queries.ts';

export function ApiKeyTable({ keys }: { readonly keys: readonly ApiKey[] }): ReactNode {
  const [doomed, setDoomed] = useState<ApiKey | null>(null);
  return (
    <Panel>
      <Table.ScrollContainer minWidth={640} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
        <Table verticalSpacing="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Name</Table.Th>
              <Table.Th scope="col">Scope</Table.Th>
              <Table.Th scope="col">Last used</Table.Th>
              <Table.Th scope="col">Expires</Table.Th>
              <Table.Th scope="col">Created</Table.Th>
              <Table.Th scope="col" aria-label="Actions" />
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {keys.map((key) => (
              <ApiKeyRow key={key.id} apiKey={key} onDelete={() => setDoomed(key)} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
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
  const { name, scopes, lastUsedAt, expiresAt, createdAt } = apiKey;
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={600}>
        {name}
      </Table.Th>
      <Table.Td>{scopes === 'read' ? 'read' : 'read and write'}</Table.Td>
      <Table.Td>{lastUsedAt === null ? <Quiet>never</Quiet> : <Time value={lastUsedAt} as="ago" />}</Table.Td>
      <Table.Td>
        <Expiry at={expiresAt} />
      </Table.Td>
      <Table.Td>
        <Time value={createdAt} as="ago" />
      </Table.Td>
      <Table.Td ta="right">
        <Tooltip label="Delete">
          <ActionIcon variant="subtle" color="gray" onClick={onDelete} aria-label={`Delete the key ${name}`}>
            <IconTrash size={18} aria-hidden />
          </ActionIcon>
        </Tooltip>
      </Table.Td>
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
