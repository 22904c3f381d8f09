import { Alert, Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { acceptInvitationSchema } from '@tocsin/contracts/people/user';
import type { ReactNode } from 'react';
import { describeError } from '../api/api-error.ts';
import { useApiForm } from '../components/use-api-form.ts';
import { acceptInvitation } from './session.ts';

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
