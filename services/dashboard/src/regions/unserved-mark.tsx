import { Tooltip, VisuallyHidden } from '@mantine/core';
import { IconPlugConnectedX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { describeUnserved } from './regions.ts';

/**
 * Marks a monitor that is not checked from some regions. Renders nothing for an empty list.
 * @param props.codes regions of the monitor that are in `useUnservedRegions()`
 */
export function UnservedMark({ codes }: { readonly codes: readonly string[] }): ReactNode {
  if (codes.length === 0) return null;
  const text = describeUnserved(codes);
  return (
    <Tooltip label={text}>
      <span style={{ display: 'inline-flex', color: 'var(--status-down)' }}>
        <IconPlugConnectedX size={16} aria-hidden />
        <VisuallyHidden>{text}</VisuallyHidden>
      </span>
    </Tooltip>
  );
}
