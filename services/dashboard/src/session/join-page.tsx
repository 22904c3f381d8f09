import { PasswordInput, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { acceptInvitationSchema } from '@tocsin/contracts/people/user';
import type { ReactNode } from 'react';
import { api } from '../api/request.ts';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { SaveForm } from '../components/save-form.tsx';
import { Entrance } from './entrance.tsx';

const setUpRoute = getRouteApi('/setup');
const invitationRoute = getRouteApi('/invitation');
const INITIAL_VALUES = { name: '', email: '', password: '' };

/** The first run: the link that is printed at startup makes the first owner. */
export function SetUpPage(): ReactNode {
  const { token } = setUpRoute.useSearch();
  return (
    <Entrance
      title="Welcome to Tocsin"
      hint="Create the first owner of this installation. You can invite everyone else afterwards."
    >
      {token === '' ? (
        <Text size="sm">This link is incomplete. `npm start` prints a new one at each start.</Text>
      ) : (
        <JoinForm token={token} action="Create owner" />
      )}
    </Entrance>
  );
}

export function InvitationPage(): ReactNode {
  const { token } = invitationRoute.useSearch();
  return (
    <Entrance title="You are invited" hint="Choose a name and a password to join.">
      {token === '' ? (
        <Text size="sm">This link is incomplete. Ask the person who invited you for a new one.</Text>
      ) : (
        <JoinForm
          token={token}
          action="Join"
          emailHint="Leave this empty if the invitation was made for your address."
        />
      )}
    </Entrance>
  );
}

interface JoinFormProps {
  readonly token: string;
  readonly action: string;
  /** Set if the invitation may already have the email address. */
  readonly emailHint?: string;
}

function JoinForm({ token, action, emailHint }: JoinFormProps): ReactNode {
  const router = useRouter();
  const queryClient = useQueryClient();
  const toBody = ({ email, ...values }: typeof INITIAL_VALUES) => ({
    ...values,
    token,
    email: email.trim() || null,
  });
  const form = useApiForm({
    initialValues: INITIAL_VALUES,
    validate: (values) => bodyErrors(acceptInvitationSchema, toBody(values)),
  });
  const save = async (values: typeof INITIAL_VALUES): Promise<void> => {
    await api('POST /api/dashboard/invitations/accept', { body: toBody(values) });
    queryClient.clear();
    await router.navigate({ to: '/', replace: true });
  };
  return (
    <SaveForm form={form} action={action} save={save} layout="entrance">
      <TextInput label="Your name" autoComplete="name" required {...form.getInputProps('name')} />
      <TextInput
        label="Email address"
        type="email"
        autoComplete="username"
        required={emailHint === undefined}
        description={emailHint}
        {...form.getInputProps('email')}
      />
      <PasswordInput
        label="Password"
        description="At least 8 characters. A passphrase is best."
        autoComplete="new-password"
        required
        {...form.getInputProps('password')}
      />
    </SaveForm>
  );
}
