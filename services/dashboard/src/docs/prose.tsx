import { Code } from '@mantine/core';
import type { ReactNode } from 'react';

/** A description as the document has it: what stands between backticks is code. */
export function Prose({ text }: { readonly text: string }): ReactNode {
  return text.split('`').map((part, index) =>
    // The parts of a text never change places.
    // oxlint-disable-next-line react/no-array-index-key
    index % 2 === 1 ? <Code key={index}>{part}</Code> : part,
  );
}
