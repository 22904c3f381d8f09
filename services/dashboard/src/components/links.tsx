import { Anchor, type AnchorProps, VisuallyHidden } from '@mantine/core';
import { IconExternalLink } from '@tabler/icons-react';
import { createLink } from '@tanstack/react-router';
import type { ComponentPropsWithRef, ReactNode } from 'react';

type Props = AnchorProps & Omit<ComponentPropsWithRef<'a'>, keyof AnchorProps>;

/** A type-safe link to a page of the dashboard. */
export const TextLink = createLink(function TextAnchor(props: Props): ReactNode {
  return <Anchor {...props} />;
});

/** A link to another site, which opens in a new tab. */
export function ExternalLink(props: { readonly href: string; readonly children: ReactNode }): ReactNode {
  return (
    <Anchor href={props.href} target="_blank" rel="noreferrer" size="sm" style={{ overflowWrap: 'anywhere' }}>
      {props.children} <IconExternalLink size={14} style={{ verticalAlign: -2 }} aria-hidden />
      <VisuallyHidden>(opens in a new tab)</VisuallyHidden>
    </Anchor>
  );
}
