import { PasswordInput, TextInput } from '@mantine/core';
import { signInRoutes } from '@tocsin/contracts/identity/routes';
import type { ReactNode } from 'react';
import { api } from '../api/request.ts';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { SaveForm } from '../components/save-form.tsx';

interface PasswordFormProps {
  /** Initial value. */
  readonly email?: string;
  readonly onSignedIn: () => unknown;
}

export function PasswordForm({ email = '', onSignedIn }: PasswordFormProps): ReactNode {
  const form = useApiForm({
    initialValues: { email, password: '' },
    validate: (values) => bodyErrors(signInRoutes.signIn.body, values),
  });
  const signIn = async (body: typeof form.values): Promise<void> => {
    await api('POST /api/auth/sign-in/email', { body });
    await onSignedIn();
  };
  return (
    <SaveForm form={form} action="Sign in" save={signIn} layout="signIn">
      <TextInput
        label="Email address"
        type="email"
        autoComplete="username"
        required
        {...form.getInputProps('email')}
      />
      <PasswordInput
        label="Password"
        autoComplete="current-password"
        required
        data-autofocus={email !== '' || undefined}
        {...form.getInputProps('password')}
      />
    </SaveForm>
  );
}
