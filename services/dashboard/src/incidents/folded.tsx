import { Button } from '@mantine/core';
import { useDisclosure, useElementSize } from '@mantine/hooks';
import { type FocusEvent, type MouseEvent, type ReactNode, useId } from 'react';
import classes from './incident.module.css';

/** About 20 lines. */
const MAX_HEIGHT = 430;

/** Collapses long content visually. Screen readers read all of it. */
export function Folded({ children }: { readonly children: ReactNode }): ReactNode {
  const [isOpened, { open, toggle }] = useDisclosure();
  const { ref, height } = useElementSize();
  const contentId = useId();
  const isLong = height > MAX_HEIGHT;
  // Content that has not been measured yet may be long.
  const isFolded = !isOpened && (isLong || height === 0);
  const onFocus = ({ target }: FocusEvent): void => {
    if (target.matches(':focus-visible')) open();
  };
  const onToggle = ({ currentTarget }: MouseEvent): void => {
    toggle();
    // After rendering, the button may be above the viewport.
    if (isOpened) setTimeout(() => currentTarget.scrollIntoView({ block: 'nearest' }));
  };
  return (
    <div className={classes['noteText']}>
      <div
        id={contentId}
        className={classes['folded']}
        {...(isFolded && { style: { maxHeight: MAX_HEIGHT, overflow: 'hidden' } })}
        data-fades={isFolded && isLong}
        onFocus={onFocus}
      >
        <div ref={ref}>{children}</div>
      </div>
      {isLong && (
        <Button
          variant="default"
          size="compact-sm"
          mt={8}
          aria-expanded={isOpened}
          aria-controls={contentId}
          onClick={onToggle}
        >
          {isOpened ? 'Show less' : 'Show all'}
        </Button>
      )}
    </div>
  );
}
