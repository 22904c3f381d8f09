import { Text } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Entrance } from './entrance.tsx';
import { JoinForm } from './join-form.tsx';

const route = getRouteApi('/setup');

/** The first run: who opens the printed link becomes the first owner. */
export function SetUpPage(): ReactNode {
  const { token } = route.useSearch();
  return (
    <Entrance
      title="Welcome to Tocsin"
      hint="Make the first owner of this installation. Everybody else is invited by you."
    >
      {token === '' ? (
        <Text size="sm">This link is not complete. `npm start` prints a fresh one each time it starts.</Text>
      ) : (
        <JoinForm token={token} action="Create the owner" />
      )}
    </Entrance>
  );
}
