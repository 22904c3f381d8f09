import { SimpleGrid } from '@mantine/core';
import type { ReactNode } from 'react';
import { PageHeader } from '../components/page-header.tsx';
import { ChangePassword } from './change-password.tsx';
import { Sessions } from './sessions.tsx';

/** What people manage of themselves. */
export function ProfilePage(): ReactNode {
  return (
    <>
      <PageHeader title="Profile and sessions" />
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Sessions />
        <ChangePassword />
      </SimpleGrid>
    </>
  );
}
