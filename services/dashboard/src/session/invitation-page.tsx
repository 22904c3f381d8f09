import { Text } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Entrance } from './entrance.tsx';
import { JoinForm } from './join-form.tsx';

const route = getRouteApi('/invitation');

export function InvitationPage(): ReactNode {
  const { token } = route.useSearch();
  return (
    <Entrance title="You are invited" hint="Choose a name and a password, and you are in.">
      {token === '' ? (
        <Text size="sm">This link is not complete. Ask who invited you for a new one.</Text>
      ) : (
        <JoinForm
          token={token}
          action="Join"
          emailHint="Leave it empty if the invitation was made for your address."
        />
      )}
    </Entrance>
  );
}
