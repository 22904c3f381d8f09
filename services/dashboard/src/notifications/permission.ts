import { useLocalStorage } from '@mantine/hooks';
import { useMe } from '../session/session.ts';

/** Explains why this browser cannot show notifications, or null if it can. */
export function whyUnavailable(): string | null {
  if (!window.isSecureContext)
    return 'Browsers show notifications only for sites with HTTPS, and for localhost. Open Tocsin at an https address.';
  if (!('Notification' in window) || !('locks' in navigator))
    return 'This browser does not support notifications of websites.';
  if (Notification.permission === 'denied')
    return 'This browser blocks notifications of this site. Allow them in its settings for this site, then reload the page.';
  return null;
}

/** All tabs of the browser share the user's choice for this account. */
export function useNotificationsWanted(): readonly [boolean, (isWanted: boolean) => void] {
  const [isWanted, setWanted] = useLocalStorage({
    key: `tocsin.notifications.${useMe().account.id}`,
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  return [isWanted, setWanted];
}
