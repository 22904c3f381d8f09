import { Button, Group, NavLink, Stack, Text, TextInput } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { IconTrash } from '@tabler/icons-react';
import { Link, useRouter } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { CopyButton, RowButton } from '../../components/buttons.tsx';
import { Quiet } from '../../components/text.tsx';
import { useMe } from '../../session/session.ts';
import type { MonitorsSearch } from '../monitors-search.ts';
import {
  BUILT_IN_VIEWS,
  findView,
  isSameSearch,
  parseViews,
  type View,
  viewNameProblem,
  withView,
} from './views.ts';

interface ViewsPanelProps {
  readonly search: MonitorsSearch;
  /** Called after the user has chosen a view. */
  readonly onChoose: () => void;
}

/** Links to the built-in views and to the user's own views, which are stored in this browser. */
export function ViewsPanel({ search, onChoose }: ViewsPanelProps): ReactNode {
  const { user, account } = useMe();
  const [views, setViews] = useLocalStorage<readonly View[]>({
    key: `tocsin.views.${account.id}.${user.id}`,
    defaultValue: [],
    getInitialValueInEffect: false,
    deserialize: parseViews,
  });
  return (
    <Stack gap="xs">
      <ViewList label="Built-in views" views={BUILT_IN_VIEWS} search={search} onChoose={onChoose} />
      <Text size="xs" c="var(--text-quiet)" fw={500} component="h2">
        Your views
      </Text>
      {views.length === 0 ? (
        <Quiet>No views yet. Views stay in this browser. Copy a link to share one.</Quiet>
      ) : (
        <ViewList
          label="Your views"
          views={views}
          search={search}
          onChoose={onChoose}
          onDelete={(name) => setViews(views.filter((view) => view.name !== name))}
        />
      )}
      <SaveView views={views} onSave={(name) => setViews(withView(views, { name, search }))} />
    </Stack>
  );
}

interface ViewListProps {
  readonly label: string;
  readonly views: readonly View[];
  readonly search: MonitorsSearch;
  readonly onChoose: () => void;
  /** If unset, views cannot be deleted. */
  readonly onDelete?: (name: string) => void;
}

function ViewList({ label, views, search: current, onChoose, onDelete }: ViewListProps): ReactNode {
  const router = useRouter();
  const linkOf = (search: MonitorsSearch): string =>
    window.location.origin + router.buildLocation({ to: '/', search }).publicHref;
  return (
    <ul aria-label={label} className="plain-list">
      {views.map(({ name, search }) => (
        <Group key={name} component="li" gap="2xs" wrap="nowrap">
          <NavLink
            renderRoot={(props) => <Link to="/" search={search} {...props} />}
            onClick={onChoose}
            label={name}
            active={isSameSearch(search, current)}
            aria-current={isSameSearch(search, current) ? 'true' : undefined}
            py={6}
            bdrs="sm"
          />
          {onDelete !== undefined && (
            <>
              <CopyButton value={linkOf(search)} what={`the link to ${name}`} />
              <RowButton
                icon={IconTrash}
                hint="Delete"
                label={`Delete the view ${name}`}
                onClick={() => onDelete(name)}
              />
            </>
          )}
        </Group>
      ))}
    </ul>
  );
}

interface SaveViewProps {
  readonly views: readonly View[];
  readonly onSave: (name: string) => void;
}

/** Saves the current search of the page. */
function SaveView({ views, onSave }: SaveViewProps): ReactNode {
  const [name, setName] = useState('');
  const [error, setError] = useState<string | null>(null);
  const replaced = findView(name, views);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const problem = viewNameProblem(name, views);
        setError(problem);
        if (problem !== null) return;
        onSave(name);
        setName('');
      }}
    >
      <Group gap="xs" align="flex-start" wrap="nowrap">
        <TextInput
          flex={1}
          aria-label="Name of the view"
          placeholder="Save this view as…"
          value={name}
          error={error}
          onChange={(event) => {
            setName(event.currentTarget.value);
            setError(null);
          }}
        />
        <Button type="submit" variant="default">
          {replaced === undefined ? 'Save' : 'Replace'}
        </Button>
      </Group>
      <div role="status">{replaced && <Quiet mt={4}>Replaces the view “{replaced.name}”.</Quiet>}</div>
    </form>
  );
}
