import type { ReactNode } from 'react';
import classes from './code-block.module.css';
import { CopyButton } from './copy-button.tsx';

/** Text to copy. @param what said to screen readers, as "the key" */
export function CodeBlock({ code, what }: { readonly code: string; readonly what: string }): ReactNode {
  return (
    <div className={classes['block']}>
      {/* It scrolls, so it must be reached by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className={classes['code']} tabIndex={0} aria-label={what}>
        {code}
      </pre>
      <CopyButton value={code} what={what} />
    </div>
  );
}
