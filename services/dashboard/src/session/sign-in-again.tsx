import { Alert, Anchor, Button, Divider, Modal, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { api } from '../api/request.ts';
import { PasswordForm } from './password-form.tsx';
import { signInMethodsQuery } from './session.ts';

/** Detects a sign-in in another tab. */
const CHECK_EVERY_MS = 3_000;
/** Above all other dialogs and below notifications. */
const Z_INDEX = 390;

interface SignInAgainProps {
  /** Owner of the open page. */
  readonly user: { readonly id: string; readonly email: string };
  /** Called when the same user has a session again. */
  readonly onSignedIn: () => void;
  /** Called when the user leaves the page. */
  readonly onLeave: () => void;
}

/** A dialog over a page whose session has ended. The page keeps everything that the user entered. */
export function SignInAgain({ user, onSignedIn, onLeave }: SignInAgainProps): ReactNode {
  const methods = useQuery(signInMethodsQuery).data?.methods ?? ['password'];
  const { data, refetch } = useQuery({
    queryKey: ['session-check'],
    queryFn: () => api('GET /api/auth/get-session'),
    refetchInterval: CHECK_EVERY_MS,
    refetchOnWindowFocus: 'always',
    staleTime: 0,
    gcTime: 0,
  });
  const other = data && data.user.id !== user.id ? data.user : null;
  const isBack = data?.user.id === user.id;
  useEffect(() => {
    if (isBack) onSignedIn();
  }, [isBack, onSignedIn]);
  return (
    <Modal
      // Another tab may have renewed the session.
      opened={data === null || other !== null}
      onClose={onLeave}
      title="Sign in again"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
      zIndex={Z_INDEX}
    >
      <Stack>
        {other === null ? (
          <Text size="sm">Your session has ended. This page keeps what you entered.</Text>
        ) : (
          <Alert role="alert" title={`Signed in as ${other.email}`}>
            <Stack gap="xs" align="flex-start">
              <Text size="sm">
                This page belongs to {user.email}. Sign in as {user.email} to keep what you entered, or reload
                the page and lose it.
              </Text>
              <Button size="xs" variant="default" onClick={() => window.location.reload()}>
                Reload
              </Button>
            </Stack>
          </Alert>
        )}
        {methods.includes('password') && <PasswordForm email={user.email} onSignedIn={refetch} />}
        {methods.includes('oidc') && (
          <>
            <Divider label="or" />
            <Button component="a" href="/sign-in?from=%2Fsign-in%2Fdone" target="_blank" variant="default">
              Single sign-on in a new tab
            </Button>
          </>
        )}
        <Anchor component="button" type="button" size="sm" onClick={onLeave}>
          Leave this page without signing in
        </Anchor>
      </Stack>
    </Modal>
  );
}
