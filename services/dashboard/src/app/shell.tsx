import { AppShell, Badge, Burger, Group, NavLink, ScrollArea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { openIncidentsQuery } from '../incidents/queries.ts';
import { LiveProvider } from '../live/live-provider.tsx';
import { LiveState } from '../live/live-state.tsx';
import { NotLiveBanner } from '../live/not-live-banner.tsx';
import { meQuery } from '../session/session.ts';
import { AccountMenu } from './account-menu.tsx';
import { HomeLink } from './home-link.tsx';
import { PAGES } from './pages.ts';
import classes from './shell.module.css';

/** What surrounds every page of somebody who is signed in. */
export function Shell(): ReactNode {
  const [opened, { toggle, close }] = useDisclosure();
  const path = useRouterState({ select: (state) => state.location.pathname });
  return (
    <LiveProvider>
      <a className={classes['skip']} href="#main">
        Skip to the page
      </a>
      <AppShell
        header={{ height: 56 }}
        navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }}
        padding="md"
      >
        <AppShell.Header className={classes['header'] ?? ''}>
          <Group h="100%" px="md" justify="space-between" wrap="nowrap">
            <Group gap="sm" wrap="nowrap">
              <Burger
                opened={opened}
                onClick={toggle}
                hiddenFrom="sm"
                size="sm"
                aria-label={opened ? 'Close the navigation' : 'Open the navigation'}
                aria-expanded={opened}
              />
              <HomeLink />
            </Group>
            <Group gap="xs" wrap="nowrap">
              <LiveState />
              <AccountMenu />
            </Group>
          </Group>
        </AppShell.Header>
        <AppShell.Navbar p="sm" className={classes['navbar'] ?? ''} aria-label="Pages" data-closed={!opened}>
          <AppShell.Section grow component={ScrollArea}>
            <Pages path={path} onOpen={close} />
          </AppShell.Section>
        </AppShell.Navbar>
        <AppShell.Main id="main" tabIndex={-1}>
          <NotLiveBanner />
          <Outlet />
        </AppShell.Main>
      </AppShell>
    </LiveProvider>
  );
}

function Pages({ path, onOpen }: { readonly path: string; readonly onOpen: () => void }): ReactNode {
  const { data: me } = useQuery(meQuery);
  const { data: incidents } = useQuery(openIncidentsQuery);
  const open = incidents?.length ?? 0;
  return PAGES.filter(({ ownersOnly }) => !ownersOnly || me?.user.role === 'owner').map((page) => (
    <NavLink
      key={page.to}
      component={Link}
      to={page.to}
      onClick={onOpen}
      label={page.label}
      leftSection={<page.icon size={18} aria-hidden />}
      active={page.to === '/' ? path === '/' || path.startsWith('/monitors') : path.startsWith(page.to)}
      className={classes['page'] ?? ''}
      rightSection={
        page.to === '/incidents' && open > 0 ? (
          <Badge color="red" size="sm" variant="filled" aria-label={`${open} open`}>
            {open}
          </Badge>
        ) : null
      }
    />
  ));
}
