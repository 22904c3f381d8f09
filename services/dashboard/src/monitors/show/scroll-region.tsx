import type { ReactNode } from 'react';
import classes from './show.module.css';

interface ScrollRegionProps {
  /** Said to screen readers. */
  readonly label: string;
  /** In pixels; without it only the width is bounded. */
  readonly maxHeight?: number;
  readonly children: ReactNode;
}

/** What may be larger than its place, and scrolls within it, by keyboard too. */
export function ScrollRegion({ label, maxHeight, children }: ScrollRegionProps): ReactNode {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
    <div role="group" aria-label={label} tabIndex={0} className={classes['scroll']} style={{ maxHeight }}>
      {children}
    </div>
  );
}
