import { Alert, Button, Divider, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { parseUrl } from '@tocsin/contracts/parse-url';
import type { ReactNode } from 'react';
import { describeError } from '../api/request.ts';
import { ErrorNotice } from '../components/load-states.tsx';
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
      {methods.includes('oidc') && <ProviderButton from={pathOf(from)} />}
    </Entrance>
  );
}

function PasswordForm({ from }: { readonly from: string }): ReactNode {
  const router = useRouter();
  const queryClient = useQueryClient();
  const form = useForm({ initialValues: { email: '', password: '' } });
  const enter = useMutation({
    mutationFn: ({ email, password }: typeof form.values) => signIn(email, password),
    // A 401 is a wrong password.
    meta: { session: true },
    gcTime: 0,
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

function ProviderButton({ from }: { readonly from: string }): ReactNode {
  const leave = useMutation({ mutationFn: () => signInWithProvider(from), meta: { session: true } });
  return (
    <>
      {leave.error && <ErrorNotice error={leave.error} />}
      <Button
        variant="default"
        fullWidth
        // Until the provider's page is there.
        loading={leave.isPending || leave.isSuccess}
        onClick={() => leave.mutate()}
      >
        Continue with single sign-on
      </Button>
    </>
  );
}

/** Where to go after signing in: a path of this dashboard, whatever the address says. */
export function pathOf(from: string | undefined): string {
  if (from === undefined) return '/';
  const { origin } = window.location;
  const url = parseUrl(from, origin);
  if (url === null) return '/';
  const { origin: wanted, pathname, search, hash } = url;
  // A path that begins with two slashes names a host.
  if (wanted !== origin || pathname.startsWith('//') || pathname === '/sign-in') return '/';
  return `${pathname}${search}${hash}`;
}

function describeRefusal(code: string): string {
  if (code === 'signup_disabled' || code === 'unable_to_create_user')
    return 'Nobody has invited this address yet. Ask an owner of the account for an invitation.';
  if (code === 'unable_to_link_account')
    return 'This address belongs to a user who signs in with another identity of the provider. Ask an owner of the account to remove that user and to invite you.';
  return `The identity provider did not let you in (${code}). Try again, or ask who runs this service.`;
}
