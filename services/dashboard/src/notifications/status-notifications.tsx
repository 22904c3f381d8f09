import { useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { useLiveStream } from '../live/live-provider.tsx';
import { useNotificationsWanted, whyUnavailable } from './permission.ts';
import { showStatusChanges } from './show-status-changes.ts';

/** Shows status changes as browser notifications while no tab of Tocsin is visible. */
export function StatusNotifications(): ReactNode {
  const [isWanted] = useNotificationsWanted();
  const stream = useLiveStream();
  const router = useRouter();
  useEffect(() => {
    if (!isWanted || whyUnavailable() !== null || Notification.permission !== 'granted') return;
    return showStatusChanges(stream, (href) => void router.navigate({ href }));
  }, [isWanted, stream, router]);
  return null;
}
