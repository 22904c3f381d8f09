import { Anchor, Typography } from '@mantine/core';
import type { ComponentPropsWithoutRef, CSSProperties, ReactNode } from 'react';
import ReactMarkdown from 'react-markdown';
import { NOTE_OPTIONS } from './note-markdown.ts';

/** Replaces headings, which would break the outline of the page. */
function Heading({ children }: { readonly children?: ReactNode }): ReactNode {
  return (
    <p>
      <strong>{children}</strong>
    </p>
  );
}

const COMPONENTS = {
  h1: Heading,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  /** A link with an unsafe scheme has no address and is shown as text. */
  a({ href, children }: ComponentPropsWithoutRef<'a'>): ReactNode {
    if (href === undefined || href === '') return <span>{children}</span>;
    return (
      <Anchor href={href} target="_blank" rel="noopener noreferrer nofollow" inherit>
        {children}
      </Anchor>
    );
  },
};

/** The library sets paragraphs and lists further apart. */
const COMPACT = { '--mantine-spacing-md': '8px', '--mantine-spacing-lg': '8px' } as CSSProperties;

export function NoteText({ text }: { readonly text: string }): ReactNode {
  return (
    <Typography fz="sm" style={COMPACT}>
      <ReactMarkdown {...NOTE_OPTIONS} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </Typography>
  );
}
