import { Anchor } from '@mantine/core';
import type { ComponentPropsWithoutRef, ReactNode } from 'react';
import ReactMarkdown from 'react-markdown';
import classes from './incident.module.css';
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

export function NoteText({ text }: { readonly text: string }): ReactNode {
  return (
    <div className={classes['markdown']}>
      <ReactMarkdown {...NOTE_OPTIONS} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
}
