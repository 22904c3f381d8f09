import { Alert, Anchor, Center, Code, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { usePageTitle } from '../components/page-title.ts';
import { signInMethodsQuery } from './session.ts';

interface SignInFrameProps {
  readonly title: string;
  readonly hint: ReactNode;
  readonly children: ReactNode;
}

/** Frame of the pages for users who are not signed in. */
export function SignInFrame({ title, hint, children }: SignInFrameProps): ReactNode {
  usePageTitle(title);
  const origins = useQuery(signInMethodsQuery).data?.origins;
  const { origin } = window.location;
  // The development server has its own origin.
  const isElsewhere = origins !== undefined && !origins.includes(origin) && !import.meta.env.DEV;
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper withBorder bg="var(--surface)" p="xl" w="100%" maw={420}>
        <Stack>
          <Stack gap={4} align="center">
            <img src="/favicon.svg" width={48} height={48} alt="" />
            <Title order={1} size="h3">
              {title}
            </Title>
            {!isElsewhere && (
              <Text size="sm" c="var(--text-quiet)" ta="center">
                {hint}
              </Text>
            )}
          </Stack>
          {isElsewhere ? <WrongAddress origin={origin} publicOrigin={origins[0] ?? ''} /> : children}
        </Stack>
      </Paper>
    </Center>
  );
}

interface WrongAddressProps {
  readonly origin: string;
  readonly publicOrigin: string;
}

/** Explains that the API accepts sign-ins only at the origin of PUBLIC_URL. */
function WrongAddress({ origin, publicOrigin }: WrongAddressProps): ReactNode {
  const here = `${publicOrigin}${window.location.pathname}${window.location.search}`;
  return (
    <Alert title="Wrong address" role="alert">
      <Stack gap="xs">
        <Text size="sm">
          This page is open at <Code>{origin}</Code>, but Tocsin accepts sign-ins only at{' '}
          <Anchor href={here} inherit>
            {publicOrigin}
          </Anchor>
          .
        </Text>
        <Text size="sm">To use this address, restart Tocsin with this setting:</Text>
        <Code block>PUBLIC_URL={origin}</Code>
      </Stack>
    </Alert>
  );
}
