import { IconHistory } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { AuditEntries } from '../audit-log/audit-log-page.tsx';
import { LinkButton } from '../components/buttons.tsx';
import { Loaded, LoadMore, Placeholder } from '../components/load-states.tsx';
import { EmptyState, PageHeader } from '../components/page.tsx';
import { operatorAuditLogQuery } from './queries.ts';

/** Lists what operators changed in all accounts. */
export function OperatorAuditLogPage(): ReactNode {
  const query = useInfiniteQuery(operatorAuditLogQuery);
  const empty = (
    <EmptyState icon={IconHistory} title="No changes yet">
      Changes by operators appear here automatically.
    </EmptyState>
  );
  return (
    <>
      <PageHeader
        title="Operator audit log"
        hint="Accounts, members and operators, in the last 13 months"
        actions={<LinkButton to="/operator/accounts">Accounts</LinkButton>}
      />
      <Loaded query={query} pending={<Placeholder heights={[320]} />} empty={empty}>
        {(entries) => <AuditEntries entries={entries} search={null} />}
      </Loaded>
      <LoadMore query={query} />
    </>
  );
}
