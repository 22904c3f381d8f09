import { Text, type TextProps } from '@mantine/core';
import type { ReactNode } from 'react';

interface QuietProps extends TextProps {
  readonly children: ReactNode;
  /** Inside a line of other text. */
  readonly inline?: boolean;
  readonly title?: string;
}

/** Small text in a quiet color: notes, hints and missing values. */
export function Quiet({ inline = false, ...props }: QuietProps): ReactNode {
  return <Text size="sm" c="var(--text-quiet)" component={inline ? 'span' : 'p'} {...props} />;
}
