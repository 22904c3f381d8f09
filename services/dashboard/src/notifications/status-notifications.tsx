import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { useLiveStream } from '../live/live-provider.tsx';
import { useMe } from '../session/session.ts';
import { useNotificationsWanted, whyUnavailable } from './permission.ts';
import { showStatusChanges } from './show-status-changes.ts';

/** Shows status changes as browser notifications while no tab of the account is visible. */
export function StatusNotifications(): ReactNode {
  const [isWanted] = useNotificationsWanted();
  const stream = useLiveStream();
  const { id } = useMe().account;
  const router = useRouter();
  useEffect(() => {
    if (!isWanted || whyUnavailable() !== null || Notification.permission !== 'granted') return;
    return showStatusChanges(stream, id, (href) => void router.navigate({ href }));
  }, [isWanted, stream, router, id]);
  return null;
}
