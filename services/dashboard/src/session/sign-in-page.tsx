import { Alert, Button, Code, Divider, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { SIGN_IN_ERRORS, type SignInError } from '@tocsin/contracts/identity/sign-in-errors';
import { parseUrl } from '@tocsin/contracts/parse-url';
import { type ReactNode, useEffect } from 'react';
import { api } from '../api/request.ts';
import { LinkButton } from '../components/buttons.tsx';
import { ErrorNotice } from '../components/load-states.tsx';
import { PasswordForm } from './password-form.tsx';
import { signInMethodsQuery } from './session.ts';
import { SignInFrame } from './sign-in-frame.tsx';

const signInRoute = getRouteApi('/sign-in');

export function SignInPage(): ReactNode {
  const { from, error } = signInRoute.useSearch();
  const { data } = useQuery(signInMethodsQuery);
  const methods = data?.methods ?? ['password'];
  const path = pathOf(from);
  if (data?.hasUsers === false)
    return (
      <SignInFrame title="Welcome to Tocsin" hint="This installation has no user yet.">
        <Text size="sm">
          Open the setup link, which ends in <Code>/setup?token=…</Code>. Tocsin prints it at every start, in
          the terminal or in the log of the api.
        </Text>
      </SignInFrame>
    );
  return (
    <SignInFrame title="Sign in" hint="Sign in to the dashboard.">
      {error !== undefined && (
        <Alert color="red" role="alert">
          {describeRefusal(error)}
        </Alert>
      )}
      {methods.includes('password') && <PasswordForm onSignedIn={() => enter(path)} />}
      {methods.length > 1 && <Divider label="or" />}
      {methods.includes('oidc') && <ProviderButton from={path} publicOrigin={data?.origins[0]} />}
    </SignInFrame>
  );
}

/** Opens a page after the session has begun. The page may belong to another account, so it is loaded anew. */
export function enter(href: string): Promise<never> {
  window.location.replace(href);
  // Buttons keep their loaders until then.
  return new Promise(() => {});
}

function ProviderButton(props: {
  readonly from: string;
  readonly publicOrigin: string | undefined;
}): ReactNode {
  const { from, publicOrigin } = props;
  const { mutate, error, isPending, isSuccess } = useMutation({
    mutationFn: () => api('POST /api/auth/sign-in/social', { body: { provider: 'oidc', callbackURL: from } }),
    onSuccess: ({ url }) => window.location.assign(url),
  });
  const begin = (): void => {
    // The provider redirects to PUBLIC_URL, whose cookies differ from those of other origins.
    if (publicOrigin === undefined || publicOrigin === window.location.origin) mutate();
    else window.location.assign(`${publicOrigin}/sign-in?from=${encodeURIComponent(from)}`);
  };
  return (
    <>
      {error && <ErrorNotice error={error} />}
      {/* The loader stays until the provider's page opens. */}
      <Button variant="default" fullWidth loading={isPending || isSuccess} onClick={begin}>
        Continue with single sign-on
      </Button>
    </>
  );
}

/** The page to open after sign-in. Only paths of this dashboard are allowed. */
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
  if (Object.hasOwn(SIGN_IN_ERRORS, code)) return SIGN_IN_ERRORS[code as SignInError];
  return `The identity provider refused the sign-in (${code}). Try again, or contact your administrator.`;
}

/** Ends a sign-in in a separate tab, for which another tab waits. */
export function SignedInPage(): ReactNode {
  useEffect(() => window.close(), []);
  return (
    <SignInFrame title="Signed in" hint="Close this tab and continue in the other one.">
      <LinkButton to="/" fullWidth>
        Open Tocsin here
      </LinkButton>
    </SignInFrame>
  );
}
