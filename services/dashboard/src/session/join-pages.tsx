import { Alert, PasswordInput, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { acceptInvitationSchema } from '@tocsin/contracts/people/user';
import type { ReactNode } from 'react';
import { api, isStatus } from '../api/request.ts';
import { LinkButton } from '../components/buttons.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { FailureNotice, Placeholder } from '../components/load-states.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { SignInFrame } from './sign-in-frame.tsx';
import { useEnter } from './sign-in-page.tsx';

const setUpRoute = getRouteApi('/setup');
const invitationRoute = getRouteApi('/invitation');

/** Creates the first owner. Tocsin prints the link to this page at startup. */
export function SetUpPage(): ReactNode {
  return (
    <JoinPage
      token={setUpRoute.useSearch().token}
      title="Welcome to Tocsin"
      hint="Create the first owner of this installation. You can invite everyone else afterwards."
      action="Create owner"
      // The page must not reveal whether an owner exists without a valid token.
      unknown="If this installation has an owner, sign in, or ask an owner for an invitation. Otherwise, Tocsin prints a new set-up link at each start, and only the latest one works. Copy all of it."
      gone="This installation has an owner, so its set-up link no longer works. Sign in, or ask an owner for an invitation."
    />
  );
}

export function InvitationPage(): ReactNode {
  return (
    <JoinPage
      token={invitationRoute.useSearch().token}
      title="You are invited"
      hint="Choose a name and a password to join."
      action="Join"
      unknown="Copy the whole link. If it still does not work, the invitation was withdrawn: ask for a new one."
      gone="This invitation was used, or has expired. If you have joined already, sign in. Otherwise ask for a new invitation."
    />
  );
}

interface JoinPageProps {
  readonly token: string;
  readonly title: string;
  readonly hint: string;
  readonly action: string;
  /** Advice for a token that does not exist. */
  readonly unknown: string;
  /** Advice for a token that can no longer be used. */
  readonly gone: string;
}

/** Checks the link, then creates a user. */
function JoinPage({ token, title, hint, action, unknown, gone }: JoinPageProps): ReactNode {
  const query = useQuery({
    queryKey: ['invitation', token],
    queryFn: ({ signal }) => api('POST /api/dashboard/invitations/check', { body: { token }, signal }),
    // A refetch after joining would find a used invitation.
    staleTime: Infinity,
    enabled: token !== '',
  });
  const isGone = isStatus(query.error, 410);
  if (token === '' || isGone || isStatus(query.error, 404) || isStatus(query.error, 400))
    return (
      <SignInFrame title="This link does not work" hint={null}>
        <Alert role="alert">{isGone ? gone : unknown}</Alert>
        <LinkButton to="/sign-in" fullWidth>
          Sign in
        </LinkButton>
      </SignInFrame>
    );
  return (
    <SignInFrame title={title} hint={hint}>
      <FailureNotice query={query} />
      {query.data && <JoinForm token={token} action={action} invited={query.data.invitation.email} />}
      {query.isPending && query.error === null && <Placeholder heights={[60, 61, 62]} />}
    </SignInFrame>
  );
}

interface JoinFormProps {
  readonly token: string;
  readonly action: string;
  /** The address of the invitation, or null if the user chooses one. */
  readonly invited: string | null;
}

function JoinForm({ token, action, invited }: JoinFormProps): ReactNode {
  const enter = useEnter('/');
  const initialValues = { name: '', email: invited ?? '', password: '' };
  const toBody = ({ email, ...values }: typeof initialValues) => ({ ...values, token, email: email.trim() });
  const form = useApiForm({
    initialValues,
    validate: (values) => bodyErrors(acceptInvitationSchema, toBody(values)),
  });
  const save = async (values: typeof initialValues): Promise<void> => {
    await api('POST /api/dashboard/invitations/accept', { body: toBody(values) });
    await enter();
  };
  return (
    <SaveForm form={form} action={action} save={save} layout="signIn">
      <TextInput label="Your name" autoComplete="name" required {...form.getInputProps('name')} />
      <TextInput
        label="Email address"
        type="email"
        autoComplete="username"
        required
        readOnly={invited !== null}
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
