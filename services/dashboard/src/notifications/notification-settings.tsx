import { Alert, Stack, Switch } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { showError } from '../api/mutations.ts';
import { Panel } from '../components/page.tsx';
import { Quiet } from '../components/text.tsx';
import { useMe } from '../session/session.ts';
import { useNotificationsWanted, whyUnavailable } from './permission.ts';

/** Enables notifications in this browser. Requests permission only when the user enables them. */
export function NotificationSettings(): ReactNode {
  const [isWanted, setWanted] = useNotificationsWanted();
  const { name } = useMe().account;
  const [reason, setReason] = useState(whyUnavailable);
  const setEnabled = async (on: boolean): Promise<void> => {
    if (on) await Notification.requestPermission();
    const isGranted = on && Notification.permission === 'granted';
    setReason(whyUnavailable());
    if (isGranted) {
      // Throws on phones unless the site is installed.
      const first = new Notification('Notifications are on', { body: 'Tocsin shows status changes here.' });
      first.addEventListener('click', () => window.focus());
    }
    setWanted(isGranted);
  };
  return (
    <Panel title="Notifications">
      <Stack gap="xs">
        <Switch
          label="Notify me about outages and recoveries"
          checked={isWanted && reason === null}
          disabled={reason !== null}
          onChange={({ currentTarget: { checked } }) => void setEnabled(checked).catch(showError)}
        />
        <Quiet>
          For {name}, in this browser only, while Tocsin is open in a background tab. For alerts that must
          arrive, use channels.
        </Quiet>
        {reason !== null && <Alert>{reason}</Alert>}
      </Stack>
    </Panel>
  );
}
