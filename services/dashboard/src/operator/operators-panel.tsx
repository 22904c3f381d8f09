import { Modal, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconUserMinus, IconUserPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { accountRoutes } from '@tocsin/contracts/accounts/routes';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { DataTable } from '../components/data-table.tsx';
import { ConfirmButton } from '../components/dialogs.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { Panel } from '../components/page.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { accountsQuery } from '../session/session.ts';
import { operatorsQuery } from './queries.ts';

export function OperatorsPanel(): ReactNode {
  const query = useQuery(operatorsQuery);
  const refresh = useRefresh();
  const [adding, { open, close }] = useDisclosure();
  const remove = async (userId: string): Promise<void> => {
    await api('DELETE /api/operator/operators/:userId', { path: { userId } });
    await refresh(operatorsQuery, accountsQuery);
  };
  return (
    <Panel
      title="Operators"
      actions={
        <IconButton size="xs" icon={IconUserPlus} onClick={open}>
          Add an operator
        </IconButton>
      }
    >
      <Loaded query={query} pending={<Placeholder heights={[90]} />}>
        {(operators) => (
          <DataTable
            label="Operators"
            rows={operators}
            rowKey={({ id }) => id}
            columns={{
              Name: ({ name }) => name,
              'Email address': ({ email }) => email,
              Actions: ({ id, name }) => (
                <ConfirmButton
                  button={{ icon: IconUserMinus, hint: 'Remove', label: `Remove the operator ${name}` }}
                  title={`Remove ${name} as an operator?`}
                  action="Remove"
                  onConfirm={() => remove(id)}
                >
                  {name} can no longer manage accounts, and their open invitations are revoked. API keys that
                  they created for accounts keep working. If {name} belongs to no account, the user is
                  deleted.
                </ConfirmButton>
              ),
            }}
          />
        )}
      </Loaded>
      <Modal opened={adding} onClose={close} title="Add an operator">
        <OperatorForm onClose={close} />
      </Modal>
    </Panel>
  );
}

function OperatorForm({ onClose }: { readonly onClose: () => void }): ReactNode {
  const refresh = useRefresh();
  const form = useApiForm({
    initialValues: { email: '' },
    validate: (values) => bodyErrors(accountRoutes.addOperator.body, values),
  });
  const save = async (body: typeof form.values): Promise<void> => {
    await api('PUT /api/operator/operators', { body });
    await refresh(operatorsQuery);
    onClose();
  };
  return (
    <SaveForm form={form} action="Add" save={save} onCancel={onClose} layout="dialog">
      <TextInput
        label="Email address"
        description="The address of an existing user. Operators manage all accounts, but see the monitors only of accounts that they belong to."
        type="email"
        required
        data-autofocus
        {...form.getInputProps('email')}
      />
    </SaveForm>
  );
}
