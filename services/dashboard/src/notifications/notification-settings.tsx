import { Alert, Stack, Switch } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { showError } from '../api/mutations.ts';
import { Panel } from '../components/page.tsx';
import { Quiet } from '../components/text.tsx';
import { useNotificationsWanted, whyUnavailable } from './permission.ts';

/** Turns notifications on and off for this browser. It asks for permission only when they are turned on. */
export function NotificationSettings(): ReactNode {
  const [isWanted, setWanted] = useNotificationsWanted();
  const [reason, setReason] = useState(whyUnavailable);
  const turn = async (on: boolean): Promise<void> => {
    if (on) await Notification.requestPermission();
    const isGranted = on && Notification.permission === 'granted';
    setReason(whyUnavailable());
    if (isGranted) {
      // On phones, only installed sites can do this.
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
          onChange={({ currentTarget: { checked } }) => void turn(checked).catch(showError)}
        />
        <Quiet>
          In this browser only, while Tocsin is open in a tab that you do not see. Use channels for alerts
          that must arrive.
        </Quiet>
        {reason !== null && <Alert>{reason}</Alert>}
      </Stack>
    </Panel>
  );
}
