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
import {
  IconActivityHeartbeat,
  IconBook,
  IconBuildings,
  IconCalendarPause,
  IconChartBar,
  IconDeviceDesktop,
  IconFlame,
  IconHistory,
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
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { InShell } from '../components/load-states.tsx';
import { formatNumber } from '../components/format.ts';
import { useRowKeys } from '../components/shortcuts.ts';
import { useDownCount } from '../incidents/down-count.ts';
import { LiveProvider } from '../live/live-provider.tsx';
import { LiveState, NotLiveBanner } from '../live/live-status.tsx';
import {
  DisconnectedRegionsBanner,
  IsolatedRegionsBanner,
  LateRegionsBanner,
} from '../regions/region-banners.tsx';
import { SessionGuard } from '../session/session-guard.tsx';
import { AccountSwitcher } from './account-switcher.tsx';
import { StatusInTab } from './status-in-tab.tsx';
import { StatusNotifications } from '../notifications/status-notifications.tsx';
import { ROLE_NAMES } from '../people/role-names.ts';
import { PaletteButton } from '../palette/palette-button.tsx';
import { accountSlug } from '../session/account-in-path.ts';
import { useAccounts, useCan, useSignOut, useUser } from '../session/session.ts';
import classes from './shell.module.css';

const PAGES = [
  { to: '/', label: 'Monitors', icon: IconActivityHeartbeat },
  { to: '/incidents', label: 'Incidents', icon: IconFlame },
  { to: '/reports', label: 'Reports', icon: IconChartBar },
  { to: '/maintenance', label: 'Maintenance', icon: IconCalendarPause },
  { to: '/channels', label: 'Channels', icon: IconWebhook },
  { to: '/regions', label: 'Regions', icon: IconMapPin, keywords: 'agents canaries' },
  { to: '/api-keys', label: 'API keys', icon: IconKey },
  { to: '/audit-log', label: 'Audit log', icon: IconHistory },
  { to: '/people', label: 'People', icon: IconUsers, ownersOnly: true },
] as const;

const ACCOUNTS_PAGE = { to: '/operator/accounts', label: 'Accounts', icon: IconBuildings } as const;

const COLOR_SCHEMES = [
  { value: 'light', label: 'Light', icon: IconSun },
  { value: 'dark', label: 'Dark', icon: IconMoon },
  { value: 'auto', label: 'System', icon: IconDeviceDesktop },
] as const;

interface ShellProps {
  /** Replaces the page of the route. */
  readonly children?: ReactNode;
}

/** Surrounds every page of a signed-in user. Outside of accounts, it shows only what belongs to none. */
export function Shell({ children }: ShellProps): ReactNode {
  const page = children ?? <Outlet />;
  if (accountSlug() === null) return <Frame>{page}</Frame>;
  return (
    <LiveProvider>
      <SessionGuard />
      <StatusInTab />
      <StatusNotifications />
      <Frame>
        <NotLiveBanner />
        <LateRegionsBanner />
        <DisconnectedRegionsBanner />
        <IsolatedRegionsBanner />
        {page}
      </Frame>
    </LiveProvider>
  );
}

function Frame({ children }: Required<ShellProps>): ReactNode {
  useRowKeys();
  const [opened, { toggle, close }] = useDisclosure();
  const hasAccount = accountSlug() !== null;
  return (
    <>
      <a className={classes['skip']} href="#main">
        Skip to content
      </a>
      <AppShell
        header={{ height: 56 }}
        navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }}
        padding={{ base: 'md', md: 'lg' }}
      >
        <AppShell.Header className={classes['header'] ?? ''}>
          <Group h="100%" px="md" justify="space-between" wrap="nowrap">
            <Group gap="sm" wrap="nowrap" miw={0}>
              <Burger
                opened={opened}
                onClick={toggle}
                hiddenFrom="sm"
                size="sm"
                aria-label={opened ? 'Close the navigation' : 'Open the navigation'}
                aria-expanded={opened}
              />
              <Link to="/" className={classes['home']} aria-label="Tocsin: all monitors">
                <img src="/favicon.svg" width={28} height={28} alt="" />
                <Text component="span" fw={600} size="md" visibleFrom="xs">
                  Tocsin
                </Text>
              </Link>
              <AccountSwitcher />
            </Group>
            <Group gap="xs" wrap="nowrap">
              {hasAccount && <AccountTools />}
              <UserMenu />
            </Group>
          </Group>
        </AppShell.Header>
        <AppShell.Navbar p="sm" className={classes['navbar'] ?? ''} aria-label="Pages" data-closed={!opened}>
          <AppShell.Section grow component={ScrollArea}>
            {hasAccount && <PageLinks onOpen={close} />}
            <OutsideLinks onOpen={close} />
          </AppShell.Section>
        </AppShell.Navbar>
        <AppShell.Main id="main" tabIndex={-1}>
          <InShell value>{children}</InShell>
        </AppShell.Main>
      </AppShell>
    </>
  );
}

function AccountTools(): ReactNode {
  const pages = usePages();
  const { isOperator } = useAccounts();
  return (
    <>
      <PaletteButton pages={isOperator ? [...pages, ACCOUNTS_PAGE] : pages} onSignOut={useSignOut()} />
      <LiveState />
    </>
  );
}

/** Pages of the account that the user may open. */
function usePages(): readonly (typeof PAGES)[number][] {
  const can = useCan();
  return PAGES.filter((page) => !('ownersOnly' in page) || can.manage);
}

interface LinksProps {
  readonly onOpen: () => void;
}

function PageLinks({ onOpen }: LinksProps): ReactNode {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const down = useDownCount();
  const pages = usePages();
  return pages.map(({ to, label, icon: Icon }) => (
    <NavLink
      key={to}
      component={Link}
      to={to}
      onClick={onOpen}
      label={label}
      leftSection={<Icon size={18} aria-hidden />}
      active={to === '/' ? path === '/' || path.startsWith('/monitors') : path.startsWith(to)}
      className={classes['page'] ?? ''}
      rightSection={
        to === '/incidents' && down > 0 ? (
          <Badge color="red" size="sm" variant="filled" aria-label={`${formatNumber(down)} down`}>
            {formatNumber(down)}
          </Badge>
        ) : null
      }
    />
  ));
}

function OutsideLinks({ onOpen }: LinksProps): ReactNode {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const { isOperator } = useAccounts();
  return (
    <>
      {/* The API serves this page. */}
      <NavLink
        href="/docs"
        label="API reference"
        leftSection={<IconBook size={18} aria-hidden />}
        className={classes['page'] ?? ''}
      />
      {isOperator && (
        <NavLink
          component={Link}
          to="/operator/accounts"
          onClick={onOpen}
          label="Accounts"
          leftSection={<IconBuildings size={18} aria-hidden />}
          active={path.startsWith('/operator')}
          className={classes['page'] ?? ''}
        />
      )}
    </>
  );
}

function UserMenu(): ReactNode {
  const user = useUser();
  const { accounts } = useAccounts();
  const role = accounts.find(({ slug }) => slug === accountSlug())?.role;
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const signOut = useSignOut();
  return (
    <Menu width={240} position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" size="lg" color="gray" aria-label="Your profile">
          <IconUserCircle size={24} stroke={1.5} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm" fw={500} c="var(--mantine-color-text)" truncate>
            {user?.name}
          </Text>
          <Text size="xs" truncate>
            {[user?.email, role && ROLE_NAMES[role]].filter(Boolean).join(' · ')}
          </Text>
        </Menu.Label>
        <Menu.Item component={Link} to="/profile" leftSection={<IconUser size={16} aria-hidden />}>
          Profile and sessions
        </Menu.Item>
        <Menu.Divider />
        {COLOR_SCHEMES.map(({ value, label, icon: Icon }) => (
          <Menu.Item
            key={value}
            onClick={() => setColorScheme(value)}
            leftSection={<Icon size={16} aria-hidden />}
            aria-current={colorScheme === value}
            fw={colorScheme === value ? 500 : undefined}
          >
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={signOut} leftSection={<IconLogout size={16} aria-hidden />}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
