import { Alert, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { acceptInvitationSchema } from '@tocsin/contracts/people/user';
import type { ReactNode } from 'react';
import { describeError } from '../api/request.ts';
import { useApiForm } from '../components/form.ts';
import { Entrance } from './entrance.tsx';
import { acceptInvitation } from './session.ts';

const setUpRoute = getRouteApi('/setup');

/** The first run: who opens the printed link becomes the first owner. */
export function SetUpPage(): ReactNode {
  const { token } = setUpRoute.useSearch();
  return (
    <Entrance
      title="Welcome to Tocsin"
      hint="Make the first owner of this installation. Everybody else is invited by you."
    >
      {token === '' ? (
        <Text size="sm">This link is not complete. `npm start` prints a fresh one each time it starts.</Text>
      ) : (
        <JoinForm token={token} action="Create the owner" />
      )}
    </Entrance>
  );
}

const invitationRoute = getRouteApi('/invitation');

export function InvitationPage(): ReactNode {
  const { token } = invitationRoute.useSearch();
  return (
    <Entrance title="You are invited" hint="Choose a name and a password, and you are in.">
      {token === '' ? (
        <Text size="sm">This link is not complete. Ask who invited you for a new one.</Text>
      ) : (
        <JoinForm
          token={token}
          action="Join"
          emailHint="Leave it empty if the invitation was made for your address."
        />
      )}
    </Entrance>
  );
}

interface JoinFormProps {
  readonly token: string;
  readonly action: string;
  /** Said of the address, where an invitation may have named it. */
  readonly emailHint?: string;
}

/** Becoming a user, by the token of a link. */
export function JoinForm({ token, action, emailHint }: JoinFormProps): ReactNode {
  const router = useRouter();
  const queryClient = useQueryClient();
  const form = useApiForm({
    schema: acceptInvitationSchema,
    initialValues: { name: '', email: '', password: '' },
    toBody: ({ email, ...rest }) => ({ ...rest, token, ...(email.trim() !== '' && { email }) }),
  });
  const join = useMutation({
    mutationFn: ({ name, email, password }: typeof form.values) =>
      acceptInvitation({ token, name, password, ...(email.trim() !== '' && { email }) }),
    onSuccess: async () => {
      queryClient.clear();
      await router.navigate({ to: '/', replace: true });
    },
    onError: (error) => form.applyErrors(error),
  });
  return (
    <form onSubmit={form.onSubmit((values) => join.mutate(values))} noValidate>
      <Stack>
        {join.error && (
          <Alert color="red" role="alert">
            {describeError(join.error)}
          </Alert>
        )}
        <TextInput label="Your name" autoComplete="name" required {...form.getInputProps('name')} />
        <TextInput
          label="E-mail address"
          type="email"
          autoComplete="username"
          required={emailHint === undefined}
          description={emailHint}
          {...form.getInputProps('email')}
        />
        <PasswordInput
          label="Password"
          description="At least 8 characters; a passphrase is best."
          autoComplete="new-password"
          required
          {...form.getInputProps('password')}
        />
        <Button type="submit" fullWidth loading={join.isPending}>
          {action}
        </Button>
      </Stack>
    </form>
  );
}
