import type { ReactNode } from 'react';
import { anchorOf } from './anchor-of.ts';
import classes from './docs.module.css';
import type { OperationGroup } from './list-operations.ts';

/** The parts of the page, beside it where there is room. */
export function Contents({ groups }: { readonly groups: readonly OperationGroup[] }): ReactNode {
  return (
    <nav aria-label="Parts of the reference" className={classes['contents']}>
      <ul>
        {[...groups.map(({ name }) => name), 'Webhooks'].map((name) => (
          <li key={name}>
            <a href={`#${anchorOf(name)}`}>{name}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
