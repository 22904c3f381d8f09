import { Button, CloseButton, Group, Select, Stack, Text } from '@mantine/core';
import { IconFilterOff, IconHistory } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { AuditEntry } from '@tocsin/contracts/audit-log/audit-log';
import { AUDIT_ACTIONS } from '@tocsin/contracts/vocabulary';
import type { ReactNode } from 'react';
import { Loaded, LoadMore, Placeholder } from '../components/load-states.tsx';
import { EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Quiet, TextLink, Time } from '../components/text.tsx';
import { Days } from '../incidents/days.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { apiKeysQuery } from '../people/queries.ts';
import { useMe } from '../session/session.ts';
import classes from './audit-log.module.css';
import { Changes } from './changes.tsx';
import { auditLogQuery, type AuditSearch, describeAction, describeActor, describeTarget } from './entries.ts';

const route = getRouteApi('/signed-in/audit-log');
const NO_ENTRIES: readonly AuditEntry[] = [];

export function AuditLogPage(): ReactNode {
  const given = route.useSearch();
  const search: AuditSearch = { ...given, action: AUDIT_ACTIONS.find((action) => action === given.action) };
  const navigate = route.useNavigate();
  const query = useInfiniteQuery(auditLogQuery(search));
  const filter = (change: AuditSearch): void =>
    void navigate({ search: (before) => ({ ...before, ...change }) });
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  const empty = isFiltered ? (
    <EmptyState
      icon={IconFilterOff}
      title="No entries found"
      action={
        <Button variant="default" onClick={() => void navigate({ search: {} })}>
          Clear filters
        </Button>
      }
    >
      No change of the last 13 months matches all filters.
    </EmptyState>
  ) : (
    <EmptyState icon={IconHistory} title="No changes yet">
      Configuration changes and sign-ins appear here automatically.
    </EmptyState>
  );
  return (
    <>
      <PageHeader title="Audit log" hint="Configuration changes and sign-ins of the last 13 months" />
      <Filters search={search} entries={query.data ?? NO_ENTRIES} onChange={filter} />
      <Loaded query={query} pending={<Placeholder heights={[320]} />} empty={empty}>
        {(entries) => <AuditEntries entries={entries} search={search} />}
      </Loaded>
      <LoadMore query={query} />
    </>
  );
}

interface FiltersProps {
  readonly search: AuditSearch;
  /** Loaded entries, which name actors and targets. */
  readonly entries: readonly AuditEntry[];
  readonly onChange: (change: AuditSearch) => void;
}

function Filters({ search, entries, onChange }: FiltersProps): ReactNode {
  const actors = useActors(entries, search.actorId);
  const target = useTargetName(entries, search.targetId);
  return (
    <Group mb="md" gap="sm">
      <Select
        aria-label="Actor"
        placeholder="Anyone"
        w={{ base: '100%', xs: 240 }}
        data={actors}
        value={search.actorId ?? null}
        onChange={(actorId) => onChange({ actorId: actorId ?? undefined })}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': 'Show all actors' }}
        nothingFoundMessage="No matching actors"
      />
      <Select
        aria-label="Action"
        placeholder="Any action"
        w={{ base: '100%', xs: 240 }}
        data={AUDIT_ACTIONS.map((value) => ({ value, label: describeAction(value) }))}
        value={search.action ?? null}
        onChange={(value) => onChange({ action: AUDIT_ACTIONS.find((action) => action === value) })}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': 'Show all actions' }}
        nothingFoundMessage="No matching actions"
      />
      {search.targetId !== undefined && (
        <Group gap="2xs" wrap="nowrap">
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            History of <b>{target}</b>
          </Text>
          <CloseButton
            aria-label="Show all targets"
            title="Show all targets"
            onClick={() => onChange({ targetId: undefined })}
          />
        </Group>
      )}
    </Group>
  );
}

/** Returns the known actors, which are the user, the API keys, and the actors in the entries. */
function useActors(
  entries: readonly AuditEntry[],
  selectedId: string | undefined,
): { value: string; label: string }[] {
  const { user } = useMe();
  const { data: keys = [] } = useQuery(apiKeysQuery);
  const names = new Map<string, string>();
  if (selectedId !== undefined) names.set(selectedId, selectedId);
  names.set(user.id, user.name);
  for (const { id, name } of keys) names.set(id, describeActor({ type: 'apiKey', id, name }));
  for (const { actor } of entries) if (actor.id !== null) names.set(actor.id, describeActor(actor));
  return [...names]
    .map(([value, label]) => ({ value, label }))
    .sort((one, other) => one.label.localeCompare(other.label));
}

/** The latest name of a target, or its ID if the name is unknown. */
function useTargetName(entries: readonly AuditEntry[], targetId: string | undefined): string | undefined {
  const { data: monitors = [] } = useQuery(monitorsQuery);
  const target = entries.find((entry) => entry.target.id === targetId)?.target;
  return target?.name ?? monitors.find(({ id }) => id === targetId)?.name ?? targetId;
}

interface AuditEntriesProps {
  readonly entries: readonly AuditEntry[];
  /** Filters that links to the history of a target keep. Null for a log without links. */
  readonly search: AuditSearch | null;
}

export function AuditEntries({ entries, search }: AuditEntriesProps): ReactNode {
  return (
    <Panel>
      <Stack gap="lg">
        <Days items={entries} timeOf={({ timestamp }) => timestamp} order={2}>
          {(ofDay) => (
            <ul className="plain-list">
              {ofDay.map((entry) => (
                <Entry key={entry.id} entry={entry} search={search} />
              ))}
            </ul>
          )}
        </Days>
      </Stack>
    </Panel>
  );
}

interface EntryProps extends Pick<AuditEntriesProps, 'search'> {
  readonly entry: AuditEntry;
}

function Entry({ entry, search }: EntryProps): ReactNode {
  const { timestamp, actor, action, target, changes } = entry;
  return (
    <li className={classes['entry']}>
      <Quiet className={classes['time'] ?? ''}>
        <Time value={timestamp} as="time" />
      </Quiet>
      <div className={classes['what']}>
        <Text size="sm" component="div">
          <b>{describeAction(action)}</b>{' '}
          {target.id === null || search === null ? (
            describeTarget(target)
          ) : (
            <TextLink
              to="/audit-log"
              search={{ ...search, targetId: target.id }}
              size="sm"
              title={`Show the history of ${describeTarget(target)}`}
            >
              {describeTarget(target)}
            </TextLink>
          )}
          <Quiet inline> by {describeActor(actor)}</Quiet>
        </Text>
        {changes.length > 0 && <Changes changes={changes} />}
      </div>
    </li>
  );
}
