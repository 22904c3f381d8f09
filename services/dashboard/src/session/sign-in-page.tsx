import { Alert, Button, Divider, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { describeError } from '../api/api-error.ts';
import { Entrance } from './entrance.tsx';
import { signIn, signInMethodsQuery, signInWithProvider } from './session.ts';

const route = getRouteApi('/sign-in');

export function SignInPage(): ReactNode {
  const { from, error } = route.useSearch();
  const { data } = useQuery(signInMethodsQuery);
  const methods = data?.methods ?? ['password'];
  return (
    <Entrance title="Sign in" hint="to see what is up, and what is not">
      {error !== undefined && (
        <Alert color="red" role="alert">
          {describeRefusal(error)}
        </Alert>
      )}
      {methods.includes('password') && <PasswordForm from={pathOf(from)} />}
      {methods.length > 1 && <Divider label="or" />}
      {methods.includes('oidc') && (
        <Button variant="default" fullWidth onClick={() => void signInWithProvider(pathOf(from))}>
          Continue with single sign-on
        </Button>
      )}
    </Entrance>
  );
}

function PasswordForm({ from }: { readonly from: string }): ReactNode {
  const router = useRouter();
  const queryClient = useQueryClient();
  const form = useForm({ initialValues: { email: '', password: '' } });
  const enter = useMutation({
    mutationFn: ({ email, password }: typeof form.values) => signIn(email, password),
    onSuccess: async () => {
      queryClient.clear();
      await router.navigate({ href: from, replace: true });
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => enter.mutate(values))}>
      <Stack>
        {enter.error && (
          <Alert color="red" role="alert">
            {describeError(enter.error)}
          </Alert>
        )}
        <TextInput
          label="E-mail address"
          type="email"
          autoComplete="username"
          required
          {...form.getInputProps('email')}
        />
        <PasswordInput
          label="Password"
          autoComplete="current-password"
          required
          {...form.getInputProps('password')}
        />
        <Button type="submit" fullWidth loading={enter.isPending}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}

/** Where to go after signing in: a path of this dashboard, whatever the address says. */
export function pathOf(from: string | undefined): string {
  if (from === undefined) return '/';
  const url = new URL(from, window.location.origin);
  return url.origin === window.location.origin ? `${url.pathname}${url.search}` : '/';
}

function describeRefusal(code: string): string {
  if (code === 'signup_disabled' || code === 'unable_to_create_user')
    return 'Nobody has invited this address yet. Ask an owner of the account for an invitation.';
  return `The identity provider did not let you in (${code}). Try again, or ask who runs this service.`;
}
