import { Anchor, type AnchorProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { ComponentPropsWithRef, ReactNode } from 'react';

type Props = AnchorProps & Omit<ComponentPropsWithRef<'a'>, keyof AnchorProps>;

/** A link to a page of the dashboard, its path and parameters checked by their types. */
export const TextLink = createLink(function TextAnchor(props: Props): ReactNode {
  return <Anchor {...props} />;
});
