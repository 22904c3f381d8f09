import { Alert, Button, Divider, PasswordInput, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { signInRoutes } from '@tocsin/contracts/identity/routes';
import { parseUrl } from '@tocsin/contracts/parse-url';
import type { ReactNode } from 'react';
import { api } from '../api/request.ts';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { ErrorNotice } from '../components/load-states.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { Entrance } from './entrance.tsx';
import { signInMethodsQuery } from './session.ts';

const route = getRouteApi('/sign-in');

export function SignInPage(): ReactNode {
  const { from, error } = route.useSearch();
  const { data } = useQuery(signInMethodsQuery);
  const methods = data?.methods ?? ['password'];
  return (
    <Entrance title="Sign in" hint="to monitor your services">
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
  const form = useApiForm({
    initialValues: { email: '', password: '' },
    validate: (values) => bodyErrors(signInRoutes.signIn.body, values),
  });
  const signIn = async (body: typeof form.values): Promise<void> => {
    await api('POST /api/auth/sign-in/email', { body });
    queryClient.clear();
    await router.navigate({ href: from, replace: true });
  };
  return (
    <SaveForm form={form} action="Sign in" save={signIn} layout="entrance">
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
        {...form.getInputProps('password')}
      />
    </SaveForm>
  );
}

function ProviderButton({ from }: { readonly from: string }): ReactNode {
  const { mutate, error, isPending, isSuccess } = useMutation({
    mutationFn: () => api('POST /api/auth/sign-in/social', { body: { provider: 'oidc', callbackURL: from } }),
    onSuccess: ({ url }) => window.location.assign(url),
  });
  return (
    <>
      {error && <ErrorNotice error={error} />}
      {/* It keeps loading until the provider's page opens. */}
      <Button variant="default" fullWidth loading={isPending || isSuccess} onClick={() => mutate()}>
        Continue with single sign-on
      </Button>
    </>
  );
}

/** The page to open after signing in. Only paths of this dashboard are allowed. */
export function pathOf(from: string | undefined): string {
  if (from === undefined) return '/';
  const { origin } = window.location;
  const url = parseUrl(from, origin);
  // A path that starts with two slashes would name another host.
  if (url === null || url.origin !== origin || url.pathname.startsWith('//') || url.pathname === '/sign-in')
    return '/';
  return `${url.pathname}${url.search}${url.hash}`;
}

function describeRefusal(code: string): string {
  if (code === 'signup_disabled' || code === 'unable_to_create_user')
    return 'This email address has no invitation. Ask an owner of the account for one.';
  if (code === 'unable_to_link_account')
    return 'This email address belongs to a user with another identity at the provider. Ask an owner of the account to remove that user and to invite you again.';
  return `The identity provider refused the sign-in (${code}). Try again, or contact your administrator.`;
}
