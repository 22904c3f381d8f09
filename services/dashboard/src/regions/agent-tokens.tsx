import { NativeSelect, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type AgentToken, createAgentTokenSchema } from '@tocsin/contracts/agents/agent-token';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { CodeBlock, NewSecret } from '../components/code.tsx';
import { DataTable } from '../components/data-table.tsx';
import { ConfirmButton, ResultDialog } from '../components/dialogs.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { Expiry, expiryOf, LastUsed, LIFETIMES } from '../components/lifetime.tsx';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { Panel } from '../components/page.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { agentCommands } from './agent-commands.ts';
import { agentTokensQuery, REGION_QUERIES, type RegionScope } from './agent-queries.ts';

interface RegionProps {
  readonly scope: RegionScope;
  readonly code: string;
}

interface AgentTokensProps extends RegionProps {
  readonly canChange: boolean;
}

export function AgentTokens({ canChange, ...region }: AgentTokensProps): ReactNode {
  const query = useQuery(agentTokensQuery(region.scope, region.code));
  const [creating, { open, close }] = useDisclosure();
  return (
    <Panel
      title="Agent tokens"
      actions={
        canChange && (
          <IconButton size="xs" icon={IconPlus} onClick={open} aria-haspopup="dialog">
            New token
          </IconButton>
        )
      }
    >
      <Loaded
        query={query}
        pending={<Placeholder heights={[90]} />}
        empty={<Quiet>No tokens yet. A new token comes with the commands that start an agent.</Quiet>}
      >
        {(tokens) => (
          <DataTable
            label="Agent tokens"
            rows={tokens}
            rowKey={({ id }) => id}
            columns={{
              Name: ({ name }) => name,
              Created: ({ createdAt }) => <Time value={createdAt} as="ago" />,
              'Last used': ({ lastUsedAt }) => <LastUsed at={lastUsedAt} />,
              Expires: ({ expiresAt }) => <Expiry at={expiresAt} />,
              ...(canChange && { Actions: (token: AgentToken) => <DeleteToken token={token} {...region} /> }),
            }}
          />
        )}
      </Loaded>
      <NewTokenDialog opened={creating} onClose={close} {...region} />
    </Panel>
  );
}

function DeleteToken({ scope, code, token: { id, name } }: RegionProps & { token: AgentToken }): ReactNode {
  const refresh = useRefresh();
  const remove = async (): Promise<void> => {
    const endpoint = `DELETE /api/${scope}/regions/:code/agent-tokens/:tokenId` as const;
    await api(endpoint, { path: { code, tokenId: id } });
    await refresh(agentTokensQuery(scope, code), REGION_QUERIES[scope]);
    notifications.show({ message: `Agent token “${name}” deleted. Its agents are disconnected.` });
  };
  return (
    <ConfirmButton
      button={{ icon: IconTrash, hint: 'Delete', label: `Delete the token ${name}` }}
      title="Delete agent token"
      action="Delete"
      name={name}
      onConfirm={remove}
    >
      Agents with this token are disconnected at once. You cannot restore a deleted token.
    </ConfirmButton>
  );
}

/** `url` is where agents connect. */
interface CreatedToken {
  readonly token: string;
  readonly url: string;
}

interface NewTokenDialogProps extends RegionProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** Creates a token and shows it once. */
function NewTokenDialog({ opened, onClose, ...region }: NewTokenDialogProps): ReactNode {
  const [created, setCreated] = useState<CreatedToken | null>(null);
  const close = (): void => {
    setCreated(null);
    onClose();
  };
  return (
    <ResultDialog
      size="xl"
      opened={opened}
      title={created === null ? 'New agent token' : 'Your new agent token'}
      result={created && <NewToken {...created} />}
      onClose={close}
    >
      <TokenForm onCreated={setCreated} onCancel={close} {...region} />
    </ResultDialog>
  );
}

interface TokenFormProps extends RegionProps {
  readonly onCreated: (created: CreatedToken) => void;
  readonly onCancel: () => void;
}

/** @param values.lifetime one of `LIFETIMES` */
function toBody({ name, lifetime }: { readonly name: string; readonly lifetime: string }) {
  return { name, expiresAt: expiryOf(lifetime) };
}

function TokenForm({ scope, code, onCreated, onCancel }: TokenFormProps): ReactNode {
  const refresh = useRefresh();
  const form = useApiForm({
    initialValues: { name: '', lifetime: 'never' },
    validate: (values) => bodyErrors(createAgentTokenSchema, toBody(values)),
  });
  const save = async (values: typeof form.values): Promise<void> => {
    const endpoint = `POST /api/${scope}/regions/:code/agent-tokens` as const;
    onCreated(await api(endpoint, { path: { code }, body: toBody(values) }));
    void refresh(agentTokensQuery(scope, code));
  };
  return (
    <SaveForm form={form} action="Create" save={save} onCancel={onCancel} layout="dialog">
      <TextInput
        label="Name"
        description="Where the agents run, such as “rack 2” or “cluster prod-eu”. Several agents can use one token."
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      <NativeSelect
        label="Expires after"
        description="Agents are disconnected when their token expires."
        data={LIFETIMES}
        {...form.getInputProps('lifetime')}
      />
    </SaveForm>
  );
}

function NewToken({ token, url }: CreatedToken): ReactNode {
  return (
    <>
      <NewSecret secret={token} what="the token" />
      <Text size="sm">
        Start an agent in one of these ways, in a clone of the repository. To let it check private addresses,
        set <code>EGRESS_ALLOW_CIDRS</code> to their ranges, as <code>docs/agents.md</code> shows.
      </Text>
      {Object.entries(agentCommands(url, token)).map(([place, command]) => (
        <div key={place}>
          <Text size="sm" fw={500} mb={4}>
            {place}
          </Text>
          <CodeBlock code={command} what={`the command for ${place}`} />
        </div>
      ))}
    </>
  );
}
