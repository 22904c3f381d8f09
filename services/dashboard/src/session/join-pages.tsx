import { Alert, Anchor, Button, PasswordInput, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { peopleRoutes } from '@tocsin/contracts/people/routes';
import { acceptInvitationSchema } from '@tocsin/contracts/people/user';
import type { ResponseOf } from '@tocsin/contracts/routes/route';
import type { ReactNode } from 'react';
import { api, isStatus } from '../api/request.ts';
import { LinkButton } from '../components/buttons.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { ErrorNotice, FailureNotice, Placeholder } from '../components/load-states.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { TextLink } from '../components/text.tsx';
import { currentSessionQuery } from './session.ts';
import { SignInFrame } from './sign-in-frame.tsx';
import { enter } from './sign-in-page.tsx';

const setUpRoute = getRouteApi('/setup');
const invitationRoute = getRouteApi('/invitation');

/** Creates the first owner. Tocsin prints the link to this page at startup. */
export function SetUpPage(): ReactNode {
  return (
    <JoinPage
      token={setUpRoute.useSearch().token}
      title="Welcome to Tocsin"
      hint="Create the first owner of this installation. You can invite everyone else afterwards."
      form={(token) => <JoinForm token={token} action="Create owner" invited={null} />}
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
      form={(token, invitation) => <AcceptInvitation token={token} invitation={invitation} />}
      unknown="Copy the whole link. If it still does not work, the invitation was revoked. Ask for a new one."
      gone="This invitation has been used or has expired. If you have already joined, sign in. Otherwise, ask for a new one."
    />
  );
}

type CheckedInvitation = ResponseOf<typeof peopleRoutes.checkInvitation>['invitation'];

interface JoinPageProps {
  readonly token: string;
  readonly title: string;
  readonly hint?: string;
  /** Accepts the invitation of a link that works. */
  readonly form: (token: string, invitation: CheckedInvitation) => ReactNode;
  /** Advice for a token that does not exist. */
  readonly unknown: string;
  /** Advice for a token that can no longer be used. */
  readonly gone: string;
}

/** Checks the link before it can be accepted. */
function JoinPage({ token, title, hint, form, unknown, gone }: JoinPageProps): ReactNode {
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
    <SignInFrame title={title} hint={hint ?? null}>
      <FailureNotice query={query} />
      {query.data && form(token, query.data.invitation)}
      {query.isPending && query.error === null && <Placeholder heights={[60, 61, 62]} />}
    </SignInFrame>
  );
}

interface InvitationProps {
  readonly token: string;
  readonly invitation: CheckedInvitation;
}

/** A user joins with one click. Anyone else becomes a user by choosing a password. */
function AcceptInvitation({ token, invitation }: InvitationProps): ReactNode {
  const { data: session, isPending } = useQuery({ ...currentSessionQuery, staleTime: 0 });
  const { accountName, email, isUser } = invitation;
  const signIn = {
    to: '/sign-in',
    search: { from: `/invitation?token=${encodeURIComponent(token)}` },
  } as const;
  if (isPending) return <Placeholder heights={[60]} />;
  if (session) return <JoinAsUser token={token} invitation={invitation} user={session.user} />;
  if (isUser)
    return (
      <>
        <Text size="sm" ta="center">
          Sign in as <b>{email}</b> to join <b>{accountName}</b>.
        </Text>
        <LinkButton variant="filled" fullWidth {...signIn}>
          Sign in
        </LinkButton>
      </>
    );
  return (
    <>
      <Text size="sm" ta="center">
        Choose a name and a password to join <b>{accountName}</b>.
      </Text>
      <JoinForm token={token} action="Join" invited={email} />
      <TextLink size="sm" ta="center" {...signIn}>
        Sign in instead
      </TextLink>
    </>
  );
}

interface JoinAsUserProps extends InvitationProps {
  readonly user: { readonly name: string; readonly email: string };
}

function JoinAsUser({ token, invitation, user }: JoinAsUserProps): ReactNode {
  const { accountName, email } = invitation;
  const { mutate, error, isPending } = useMutation({
    mutationFn: async () => {
      const { account } = await api('POST /api/dashboard/invitations/join', { body: { token } });
      await enter(`/${account.slug}`);
    },
  });
  const signOut = useMutation({
    mutationFn: () => api('POST /api/auth/sign-out'),
    onSuccess: () => window.location.reload(),
  });
  const isForOther = email !== null && email !== user.email;
  return (
    <>
      {isForOther && (
        <Alert role="alert">
          This invitation to {accountName} is for {email}. You are signed in as {user.email}.
        </Alert>
      )}
      {error && <ErrorNotice error={error} />}
      {!isForOther && (
        <Button fullWidth loading={isPending} onClick={() => mutate()}>
          Join {accountName} as {user.name}
        </Button>
      )}
      <Anchor component="button" type="button" size="sm" onClick={() => signOut.mutate()}>
        Sign out and join as another user
      </Anchor>
    </>
  );
}

interface JoinFormProps {
  readonly token: string;
  readonly action: string;
  /** The address of the invitation, or null if the user chooses one. */
  readonly invited: string | null;
}

function JoinForm({ token, action, invited }: JoinFormProps): ReactNode {
  const initialValues = { name: '', email: invited ?? '', password: '' };
  const toBody = ({ email, ...values }: typeof initialValues) => ({ ...values, token, email: email.trim() });
  const form = useApiForm({
    initialValues,
    validate: (values) => bodyErrors(acceptInvitationSchema, toBody(values)),
  });
  const save = async (values: typeof initialValues): Promise<void> => {
    await api('POST /api/dashboard/invitations/accept', { body: toBody(values) });
    await enter('/');
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
