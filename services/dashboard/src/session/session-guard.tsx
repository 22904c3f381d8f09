import { notifications } from '@mantine/notifications';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import {
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { sessionGate } from '../api/session-gate.ts';
import { useLiveState, useLiveStream } from '../live/live-provider.tsx';
import { ROLE_NAMES } from '../people/role-names.ts';
import { meQuery, useMe } from './session.ts';
import type { SignInAgain } from './sign-in-again.tsx';

/** Interval at which a lost stream is checked for an expired session. */
const PROBE_EVERY_MS = 5_000;
/** Interval at which a page looks whether an owner has changed the user's role. */
const CHECK_ROLE_EVERY_MS = 15_000;
/** After the first page has loaded its own scripts. */
const PRELOAD_AFTER_MS = 3_000;

/** Lets the user sign in again on the same page when the session ends or another user has signed in. */
export function SessionGuard(): ReactNode {
  const { user } = useMe();
  // The page belongs to the user who opened it.
  const [openedBy] = useState(user);
  const hasEnded = useSyncExternalStore(sessionGate.subscribe, () => sessionGate.hasEnded);
  const queryClient = useQueryClient();
  const router = useRouter();
  const stream = useLiveStream();
  const isLost = useLiveState() === 'lost';
  useQuery({
    ...meQuery,
    refetchInterval: isLost ? PROBE_EVERY_MS : CHECK_ROLE_EVERY_MS,
    refetchOnWindowFocus: 'always',
  });
  const shownRole = useRef(user.role);
  useEffect(() => {
    if (shownRole.current === user.role) return;
    shownRole.current = user.role;
    notifications.show({ id: 'role', message: `Your role in this account is now ${ROLE_NAMES[user.role]}.` });
  }, [user.role]);
  useEffect(() => {
    // The stream ends with the session. When it is back, another user may have signed in.
    if (isLost) return () => void queryClient.invalidateQueries(meQuery);
    return undefined;
  }, [isLost, queryClient]);
  // Runs before the effects in which the page sends its first requests.
  useLayoutEffect(() => {
    const stop = sessionGate.guard(openedBy.id);
    window.addEventListener('keydown', keepFromPage, { capture: true });
    return () => {
      window.removeEventListener('keydown', keepFromPage, { capture: true });
      stop();
    };
  }, [openedBy.id]);
  useEffect(() => {
    if (hasEnded) stream.pause();
  }, [hasEnded, stream]);

  const resume = useCallback(() => {
    sessionGate.open(true);
    stream.open();
    void queryClient.invalidateQueries();
  }, [stream, queryClient]);
  const leave = useCallback(() => {
    const from = router.state.location.publicHref;
    sessionGate.open(false);
    void router.navigate({ to: '/sign-in', search: { from }, ignoreBlocker: true });
  }, [router]);
  const dialog = useDialog(hasEnded, leave);
  return hasEnded && dialog !== null ? (
    <dialog.show user={openedBy} onSignedIn={resume} onLeave={leave} />
  ) : null;
}

/** Keeps Escape from closing dialogs below, which listen on the window. */
function keepFromPage(event: KeyboardEvent): void {
  if (sessionGate.hasEnded && event.key === 'Escape') event.stopImmediatePropagation();
}

type LoadedDialog = { readonly show: typeof SignInAgain };

/** Preloads the dialog, because a deployment that ends the session may also replace the script. Null while it loads. */
function useDialog(isNeeded: boolean, onFailure: () => void): LoadedDialog | null {
  const [dialog, setDialog] = useState<LoadedDialog | null>(null);
  useEffect(() => {
    if (dialog !== null) return;
    const load = async (): Promise<void> => {
      try {
        const { SignInAgain: show } = await import('./sign-in-again.tsx');
        setDialog({ show });
      } catch {
        if (isNeeded) onFailure();
      }
    };
    const timer = setTimeout(() => void load(), isNeeded ? 0 : PRELOAD_AFTER_MS);
    return () => clearTimeout(timer);
  }, [dialog, isNeeded, onFailure]);
  return dialog;
}
