import type { AuditChange } from '@tocsin/contracts/audit-log/audit-log';
import type { ReactNode } from 'react';
import { Facts } from '../components/facts.tsx';
import { Quiet } from '../components/text.tsx';
import classes from './audit-log.module.css';
import { listChanges, summarizeChanges } from './entries.ts';

/** A longer list is collapsed. */
const MAX_CHANGES = 3;

export function Changes({ changes }: { readonly changes: readonly AuditChange[] }): ReactNode {
  const list = (
    <Facts
      facts={Object.fromEntries(
        listChanges(changes).map(({ field, from, to }) => [
          field,
          <>
            {from !== null && <del>{from}</del>}
            {from !== null && to !== null && <span aria-label="to"> → </span>}
            {to === null ? <Quiet inline> removed</Quiet> : <ins>{to}</ins>}
          </>,
        ]),
      )}
      labelWidth={140}
      size="xs"
      gap={4}
      mt={4}
      className={classes['changes'] ?? ''}
    />
  );
  if (changes.length <= MAX_CHANGES) return list;
  return (
    <details>
      <summary className={classes['summary']}>{summarizeChanges(changes)}</summary>
      {list}
    </details>
  );
}
