import { Anchor, type AnchorProps, VisuallyHidden } from '@mantine/core';
import { IconExternalLink } from '@tabler/icons-react';
import { createLink } from '@tanstack/react-router';
import type { ComponentPropsWithRef, ReactNode } from 'react';

type Props = AnchorProps & Omit<ComponentPropsWithRef<'a'>, keyof AnchorProps>;

/** A link to a page of the dashboard, its path and parameters checked by their types. */
export const TextLink = createLink(function TextAnchor(props: Props): ReactNode {
  return <Anchor {...props} />;
});

/** A link out of the dashboard, in a new tab. */
export function ExternalLink({
  href,
  children,
}: {
  readonly href: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <Anchor href={href} target="_blank" rel="noreferrer" size="sm" style={{ overflowWrap: 'anywhere' }}>
      {children} <IconExternalLink size={14} style={{ verticalAlign: -2 }} aria-hidden />
      <VisuallyHidden>(opens in a new tab)</VisuallyHidden>
    </Anchor>
  );
}
