import { Container, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { TextLink } from '../components/text-link.tsx';
import { meQuery } from '../session/session.ts';
import { Logo } from './logo.tsx';
import { PendingPage } from './page-states.tsx';
import { Shell } from './shell.tsx';
import classes from './shell.module.css';

/** What surrounds pages that anybody may read: the navigation too for who is signed in. */
export function OpenFrame(): ReactNode {
  const { isSuccess, isPending } = useQuery(meQuery);
  const from = useRouterState({ select: ({ location }) => location.href });
  if (isPending) return <PendingPage />;
  if (isSuccess) return <Shell />;
  return (
    <Container size="xl" py="md">
      <Group component="header" justify="space-between" mb="lg">
        <Link to="/" className={classes['home']} aria-label="Tocsin: all monitors">
          <Logo />
          <Text component="span" fw={700} size="lg">
            Tocsin
          </Text>
        </Link>
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
