import { Badge, Button, Menu, Text } from '@mantine/core';
import { IconBuildings, IconCheck, IconSelector } from '@tabler/icons-react';
import { Link, useRouterState } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAccountTitle } from '../components/page-title.ts';
import { accountSlug, isOutsideOfAccounts } from '../session/account-in-path.ts';
import { useAccounts } from '../session/session.ts';
import classes from './shell.module.css';

/** Shows which account is open, and links to the others. Each is another page load. */
export function AccountSwitcher(): ReactNode {
  const { accounts, isOperator } = useAccounts();
  const isOutside = useRouterState({ select: ({ location }) => isOutsideOfAccounts(location.pathname) });
  const open = accounts.find(({ slug }) => slug === accountSlug());
  useAccountTitle(accounts.length > 1 && !isOutside ? (open?.name ?? '') : '');
  return (
    <>
      {(accounts.length > 1 || isOperator) && (
        <Menu width={260} position="bottom-start">
          <Menu.Target>
            <Button
              variant="subtle"
              color="gray"
              size="compact-md"
              className={classes['switcher'] ?? ''}
              rightSection={<IconSelector size={16} aria-hidden />}
              aria-label={`Account: ${open?.name ?? 'none'}`}
            >
              <Text span inherit truncate>
                {open?.name ?? 'Accounts'}
              </Text>
            </Button>
          </Menu.Target>
          <Menu.Dropdown mah="70vh" style={{ overflowY: 'auto' }}>
            {accounts.map(({ id, name, slug }) => (
              <Menu.Item
                key={id}
                component="a"
                href={`/${slug}`}
                aria-current={open?.id === id}
                fw={open?.id === id ? 500 : undefined}
                rightSection={open?.id === id && <IconCheck size={16} aria-hidden />}
              >
                <Text size="sm" inherit truncate>
                  {name}
                </Text>
              </Menu.Item>
            ))}
            {isOperator && (
              <>
                {accounts.length > 0 && <Menu.Divider />}
                <Menu.Item
                  component={Link}
                  to="/operator/accounts"
                  leftSection={<IconBuildings size={16} aria-hidden />}
                >
                  Manage accounts
                </Menu.Item>
              </>
            )}
          </Menu.Dropdown>
        </Menu>
      )}
      {open?.role === 'viewer' && (
        <Badge
          variant="default"
          size="sm"
          fw={500}
          tt="none"
          flex="none"
          title="You have read-only access to this account."
        >
          View only
        </Badge>
      )}
    </>
  );
}
