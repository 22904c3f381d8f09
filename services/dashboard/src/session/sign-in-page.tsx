import {
  Alert,
  Button,
  Center,
  Divider,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { signInRoutes } from '@tocsin/contracts/identity/routes';
import { parseUrl } from '@tocsin/contracts/parse-url';
import { acceptInvitationSchema } from '@tocsin/contracts/people/user';
import type { ReactNode } from 'react';
import { api } from '../api/request.ts';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { ErrorNotice } from '../components/load-states.tsx';
import pageClasses from '../components/page.module.css';
import { SaveForm } from '../components/save-form.tsx';
import { signInMethodsQuery } from './session.ts';

const signInRoute = getRouteApi('/sign-in');
const setUpRoute = getRouteApi('/setup');
const invitationRoute = getRouteApi('/invitation');

interface SignInFrameProps {
  readonly title: string;
  readonly hint: ReactNode;
  readonly children: ReactNode;
}

/** The frame around the pages for people who are not signed in. */
function SignInFrame({ title, hint, children }: SignInFrameProps): ReactNode {
  useDocumentTitle(`${title} · Tocsin`);
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper p="xl" w="100%" maw={420} className={pageClasses['panel'] ?? ''}>
        <Stack>
          <Stack gap={4} align="center">
            <img src="/favicon.svg" width={48} height={48} alt="" />
            <Title order={1} size="h3">
              {title}
            </Title>
            <Text size="sm" c="var(--text-quiet)" ta="center">
              {hint}
            </Text>
          </Stack>
          {children}
        </Stack>
      </Paper>
    </Center>
  );
}

export function SignInPage(): ReactNode {
  const { from, error } = signInRoute.useSearch();
  const { data } = useQuery(signInMethodsQuery);
  const methods = data?.methods ?? ['password'];
  return (
    <SignInFrame title="Sign in" hint="Use your Tocsin account.">
      {error !== undefined && (
        <Alert color="red" role="alert">
          {describeRefusal(error)}
        </Alert>
      )}
      {methods.includes('password') && <PasswordForm from={pathOf(from)} />}
      {methods.length > 1 && <Divider label="or" />}
      {methods.includes('oidc') && <ProviderButton from={pathOf(from)} />}
    </SignInFrame>
  );
}

/** @returns a function that opens a page after the session has begun */
function useEnter(href: string): () => Promise<void> {
  const router = useRouter();
  const queryClient = useQueryClient();
  return () => {
    queryClient.clear();
    return router.navigate({ href, replace: true });
  };
}

function PasswordForm({ from }: { readonly from: string }): ReactNode {
  const enter = useEnter(from);
  const form = useApiForm({
    initialValues: { email: '', password: '' },
    validate: (values) => bodyErrors(signInRoutes.signIn.body, values),
  });
  const signIn = async (body: typeof form.values): Promise<void> => {
    await api('POST /api/auth/sign-in/email', { body });
    await enter();
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

/** The page of the link that is printed at startup. It creates the first owner. */
export function SetUpPage(): ReactNode {
  return (
    <SignInFrame
      title="Welcome to Tocsin"
      hint="Create the first owner of this installation. You can invite everyone else afterwards."
    >
      <JoinForm
        token={setUpRoute.useSearch().token}
        incomplete="This link is incomplete. `npm start` prints a new one at each start."
        action="Create owner"
      />
    </SignInFrame>
  );
}

export function InvitationPage(): ReactNode {
  return (
    <SignInFrame title="You are invited" hint="Choose a name and a password to join.">
      <JoinForm
        token={invitationRoute.useSearch().token}
        incomplete="This link is incomplete. Ask the person who invited you for a new one."
        action="Join"
        emailHint="Leave empty if the invitation was sent to your address."
      />
    </SignInFrame>
  );
}

interface JoinFormProps {
  readonly token: string;
  /** Shown if the token is empty. */
  readonly incomplete: string;
  readonly action: string;
  /** Set if the invitation may already have the email address. */
  readonly emailHint?: string;
}

function JoinForm({ token, incomplete, action, emailHint }: JoinFormProps): ReactNode {
  const enter = useEnter('/');
  const initialValues = { name: '', email: '', password: '' };
  const toBody = ({ email, ...values }: typeof initialValues) => ({
    ...values,
    token,
    email: email.trim() || null,
  });
  const form = useApiForm({
    initialValues,
    validate: (values) => bodyErrors(acceptInvitationSchema, toBody(values)),
  });
  const save = async (values: typeof initialValues): Promise<void> => {
    await api('POST /api/dashboard/invitations/accept', { body: toBody(values) });
    await enter();
  };
  if (token === '') return <Text size="sm">{incomplete}</Text>;
  return (
    <SaveForm form={form} action={action} save={save} layout="signIn">
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
