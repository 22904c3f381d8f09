import { Container, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Outlet, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { TextLink } from '../components/links.tsx';
import { PendingPage } from '../components/load-states.tsx';
import { meQuery } from '../session/session.ts';
import { HomeLink, Shell } from './shell.tsx';

/** What surrounds pages that anybody may read: the navigation too for who is signed in. */
export function OpenFrame(): ReactNode {
  const { isSuccess, isPending } = useQuery(meQuery);
  const from = useRouterState({ select: ({ location }) => location.href });
  if (isPending) return <PendingPage />;
  if (isSuccess) return <Shell />;
  return (
    <Container size="xl" py="md">
      <Group component="header" justify="space-between" mb="lg">
        <HomeLink />
        <TextLink to="/sign-in" search={{ from }}>
          Sign in
        </TextLink>
      </Group>
      <main>
        <Outlet />
      </main>
    </Container>
  );
}
