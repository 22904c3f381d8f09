import { Badge } from '@mantine/core';
import type { ReactNode } from 'react';
import { Quiet, Time, useNow } from './text.tsx';

/** Values are in days. */
export const LIFETIMES = [
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
  { value: 'never', label: 'Never' },
];
const DAY_MS = 24 * 3_600_000;

/** Returns the expiry of a secret created now in ISO 8601, or null for never. @param lifetime a value of `LIFETIMES` */
export function expiryOf(lifetime: string): string | null {
  return lifetime === 'never' ? null : new Date(Date.now() + Number(lifetime) * DAY_MS).toISOString();
}

interface InstantProps {
  /** ISO 8601, or null for never. */
  readonly at: string | null;
}

export function Expiry({ at }: InstantProps): ReactNode {
  const now = useNow(at !== null);
  if (at === null) return <Quiet inline>Never</Quiet>;
  if (new Date(at).getTime() > now) return <Time value={at} />;
  return (
    <>
      <Badge color="red" variant="light" mr="xs">
        Expired
      </Badge>
      <Time value={at} as="ago" />
    </>
  );
}

export function LastUsed({ at }: InstantProps): ReactNode {
  return at === null ? <Quiet inline>Never</Quiet> : <Time value={at} as="ago" />;
}
