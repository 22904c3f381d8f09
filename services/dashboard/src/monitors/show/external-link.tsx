import { Anchor, VisuallyHidden } from '@mantine/core';
import { IconExternalLink } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './show.module.css';

/** A link out of the dashboard, in a new tab. */
export function ExternalLink({
  href,
  children,
}: {
  readonly href: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <Anchor href={href} target="_blank" rel="noreferrer" size="sm" className={classes['address'] ?? ''}>
      {children} <IconExternalLink size={14} className={classes['inlineIcon'] ?? ''} aria-hidden />
      <VisuallyHidden>(opens in a new tab)</VisuallyHidden>
    </Anchor>
  );
}
