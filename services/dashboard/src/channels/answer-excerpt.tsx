import { Code } from '@mantine/core';
import type { ReactNode } from 'react';

/** The beginning of what a receiver answered; nothing where it answered nothing. */
export function AnswerExcerpt({ text }: { readonly text: string | null }): ReactNode {
  if (text === null || text === '') return null;
  return (
    <Code
      block
      mah={160}
      style={{ overflow: 'auto', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
      tabIndex={0}
      role="region"
      aria-label="What the receiver answered"
    >
      {text}
    </Code>
  );
}
