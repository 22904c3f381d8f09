import type { ReactNode } from 'react';

export function Logo({ size = 28 }: { readonly size?: number }): ReactNode {
  return <img src="/favicon.svg" width={size} height={size} alt="" />;
}
