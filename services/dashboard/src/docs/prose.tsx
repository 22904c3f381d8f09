import { Anchor, Code } from '@mantine/core';
import type { ReactNode } from 'react';
import { splitProse, type ProsePart } from './split-prose.ts';

/** A description as the document has it. */
export function Prose({ text }: { readonly text: string }): ReactNode {
  // The parts of a text never change places.
  // oxlint-disable-next-line react/no-array-index-key
  return splitProse(text).map((part, index) => <Part key={index} part={part} />);
}

function Part({ part: { text, isCode, href } }: { readonly part: ProsePart }): ReactNode {
  if (isCode) return <Code>{text}</Code>;
  if (href === null) return text;
  return (
    <Anchor href={href} target="_blank" rel="noreferrer" inherit underline="always">
      {text}
    </Anchor>
  );
}
