import {
  ActionIcon,
  AppShell,
  Badge,
  Burger,
  Group,
  Menu,
  NavLink,
  ScrollArea,
  Text,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import {
  IconActivityHeartbeat,
  IconBook,
  IconCalendarPause,
  IconDeviceDesktop,
  IconFlame,
  IconKey,
  IconLogout,
  IconMapPin,
  IconMoon,
  IconSun,
  IconUser,
  IconUserCircle,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { describeError } from '../api/request.ts';
import { openIncidentsQuery } from '../incidents/queries.ts';
import { LiveProvider } from '../live/live-provider.tsx';
import { LiveState, NotLiveBanner } from '../live/live-status.tsx';
import { meQuery, signOut } from '../session/session.ts';
import classes from './shell.module.css';

export function Logo({ size = 28 }: { readonly size?: number }): ReactNode {
  return <img src="/favicon.svg" width={size} height={size} alt="" />;
}

export function HomeLink(): ReactNode {
  return (
    <Link to="/" className={classes['home']} aria-label="Tocsin: all monitors">
      <Logo />
      <Text component="span" fw={700} size="lg">
        Tocsin
      </Text>
    </Link>
  );
}

/** The pages of the navigation, in its order. */
export const PAGES = [
  { to: '/', label: 'Monitors', icon: IconActivityHeartbeat, ownersOnly: false },
  { to: '/incidents', label: 'Incidents', icon: IconFlame, ownersOnly: false },
  { to: '/maintenance', label: 'Maintenance', icon: IconCalendarPause, ownersOnly: false },
  { to: '/channels', label: 'Channels', icon: IconWebhook, ownersOnly: false },
  { to: '/regions', label: 'Regions', icon: IconMapPin, ownersOnly: false },
  { to: '/api-keys', label: 'API keys', icon: IconKey, ownersOnly: false },
  { to: '/people', label: 'People', icon: IconUsers, ownersOnly: true },
  { to: '/docs', label: 'API reference', icon: IconBook, ownersOnly: false },
] as const;

const SCHEMES = [
  { value: 'light', label: 'Light', icon: IconSun },
  { value: 'dark', label: 'Dark', icon: IconMoon },
  { value: 'auto', label: 'As the system', icon: IconDeviceDesktop },
] as const;

export function AccountMenu(): ReactNode {
  const { data: me } = useQuery(meQuery);
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const leave = useMutation({
    mutationFn: signOut,
    // A whole new page: nothing of this session stays in memory.
    onSuccess: () => window.location.assign('/sign-in'),
    onError: (error) =>
      notifications.show({ color: 'red', message: `You are still signed in: ${describeError(error)}` }),
  });
  return (
    <Menu width={240} position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" size="lg" color="gray" aria-label="Account">
          <IconUserCircle size={24} stroke={1.5} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {me && (
          <Menu.Label>
            <Text size="sm" fw={600} c="var(--mantine-color-text)" truncate>
              {me.user.name}
            </Text>
            <Text size="xs" truncate>
              {me.user.email} · {me.user.role}
            </Text>
          </Menu.Label>
        )}
        <Menu.Item component={Link} to="/profile" leftSection={<IconUser size={16} aria-hidden />}>
          Profile and sessions
        </Menu.Item>
        <Menu.Divider />
        {SCHEMES.map(({ value, label, icon: Icon }) => (
          <Menu.Item
            key={value}
            onClick={() => setColorScheme(value)}
            leftSection={<Icon size={16} aria-hidden />}
            aria-current={colorScheme === value}
            fw={colorScheme === value ? 600 : undefined}
          >
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => leave.mutate()} leftSection={<IconLogout size={16} aria-hidden />}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

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
