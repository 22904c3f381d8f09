import '@mantine/spotlight/styles.css';
import { useMantineColorScheme } from '@mantine/core';
import { createSpotlight, Spotlight, useSpotlight } from '@mantine/spotlight';
import {
  type Icon,
  IconActivityHeartbeat,
  IconBolt,
  IconBook,
  IconBuildings,
  IconFlame,
  IconLogout,
  IconMoon,
  IconPlus,
  IconSearch,
  IconSun,
  IconUser,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useId, useMemo, useState } from 'react';
import { searchMatcher } from '../components/filter-monitors.ts';
import { formatNumber } from '../components/format.ts';
import { StatusBadge } from '../components/text.tsx';
import { openIncidentsQuery } from '../incidents/queries.ts';
import { shownStatus } from '../monitors/shown-status.ts';
import { monitorsQuery } from '../monitors/queries.ts';
import { accountSlug } from '../session/account-in-path.ts';
import { useAccounts, useCan } from '../session/session.ts';
import { findItems, findMonitors, pageActions } from './palette-items.ts';
import classes from './palette.module.css';

const [store, { open }] = createSpotlight();
const MAX_INCIDENTS = 5;
/** Below the dialog for signing in again. */
const Z_INDEX = 300;

export const openPalette = open;

interface PaletteItem {
  readonly key: string;
  readonly label: string;
  /** Additional search words. */
  readonly keywords?: string;
  readonly hint?: string;
  readonly icon: Icon;
  readonly right?: ReactNode;
  readonly run: () => unknown;
}

interface PaletteProps {
  readonly pages: readonly (Pick<PaletteItem, 'label' | 'keywords' | 'icon'> & { readonly to: string })[];
  readonly onSignOut: () => void;
}

/** Finds monitors, pages and actions by name. */
export function Palette(props: PaletteProps): ReactNode {
  const [query, setQuery] = useState('');
  return (
    <Spotlight.Root
      store={store}
      shortcut={null}
      // A centered palette would jump whenever the number of results changes.
      centered={false}
      query={query}
      onQueryChange={setQuery}
      scrollable
      maxHeight={420}
      zIndex={Z_INDEX}
      attributes={{ content: { 'aria-label': 'Search and commands' } }}
    >
      <Content {...props} query={query} />
    </Spotlight.Root>
  );
}

/** Mounted while the palette is open. */
function Content({ query, ...props }: PaletteProps & { readonly query: string }): ReactNode {
  const groups = useGroups(query, props);
  const { selected, listId } = useSpotlight(store);
  const id = useId();
  const keys = groups.flatMap(({ items }) => items.map(({ key }) => key));
  const count = keys.length;
  return (
    <>
      <Spotlight.Search
        placeholder="Search monitors, pages and actions"
        aria-label="Search monitors, pages and actions"
        role="combobox"
        aria-expanded={count > 0}
        aria-autocomplete="list"
        aria-controls={listId}
        {...(selected >= 0 && selected < count && { 'aria-activedescendant': `${id}-${selected}` })}
        leftSection={<IconSearch size={20} stroke={1.5} aria-hidden />}
      />
      <Spotlight.ActionsList role="listbox" aria-label="Results" className={classes['list'] ?? ''}>
        {groups.map(({ label, items }) => (
          <Spotlight.ActionsGroup key={label} label={label} role="group" aria-label={label}>
            {items.map(({ key, label: name, hint, icon: ItemIcon, right, run }) => {
              const position = keys.indexOf(key);
              const optionId = `${id}-${position}`;
              return (
                <Spotlight.Action
                  key={key}
                  // The component does not accept an `id`.
                  ref={(element) => element?.setAttribute('id', optionId)}
                  role="option"
                  aria-selected={position === selected}
                  label={name}
                  {...(hint !== undefined && { description: hint })}
                  leftSection={<ItemIcon size={20} stroke={1.5} aria-hidden />}
                  rightSection={right}
                  dimmedSections={false}
                  classNames={{
                    action: classes['option'] ?? '',
                    actionBody: classes['body'] ?? '',
                    actionDescription: classes['hint'] ?? '',
                  }}
                  onClick={() => void run()}
                />
              );
            })}
          </Spotlight.ActionsGroup>
        ))}
        {count === 0 && (
          <Spotlight.Empty role="option" aria-selected={false} aria-disabled>
            Nothing found
          </Spotlight.Empty>
        )}
      </Spotlight.ActionsList>
    </>
  );
}

function useGroups(
  query: string,
  { pages, onSignOut }: PaletteProps,
): { label: string; items: PaletteItem[] }[] {
  const monitors = useMonitorItems(query);
  const incidents = useIncidentItems(query);
  const navigate = useNavigate();
  const accounts = useAccountItems();
  const can = useCan();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const isDark =
    colorScheme === 'dark' || (colorScheme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  const changes: PaletteItem[] = [
    { key: 'monitor', label: 'New monitor', icon: IconPlus, run: () => navigate({ to: '/monitors/new' }) },
    {
      key: 'window',
      label: 'New maintenance window',
      icon: IconPlus,
      run: () => navigate({ to: '/maintenance/new' }),
    },
    { key: 'channel', label: 'New channel', icon: IconPlus, run: () => navigate({ to: '/channels/new' }) },
  ];
  const actions: PaletteItem[] = [
    ...(can.change ? changes : []),
    {
      key: 'scheme',
      label: isDark ? 'Light colors' : 'Dark colors',
      keywords: 'dark light',
      icon: isDark ? IconSun : IconMoon,
      run: () => setColorScheme(isDark ? 'light' : 'dark'),
    },
    {
      key: 'profile',
      label: 'Profile and sessions',
      icon: IconUser,
      run: () => navigate({ to: '/profile' }),
    },
    { key: 'sign-out', label: 'Sign out', icon: IconLogout, run: onSignOut },
  ];
  const toPage = ({ to, ...page }: PaletteProps['pages'][number]): PaletteItem => ({
    ...page,
    key: to,
    run: () => navigate({ to }),
  });
  const onPage = pageActions(document).map(({ label, run }) => ({ key: label, label, icon: IconBolt, run }));
  const reference: PaletteItem = {
    key: '/docs',
    label: 'API reference',
    icon: IconBook,
    run: () => window.location.assign('/docs'),
  };
  return [
    { label: query.trim() === '' ? 'Down' : 'Monitors', items: monitors },
    { label: 'Incidents', items: incidents },
    { label: 'This page', items: findItems(onPage, query) },
    { label: 'Pages', items: findItems([...pages.map(toPage), reference], query) },
    { label: 'Actions', items: findItems(actions, query) },
    { label: 'Accounts', items: findItems(accounts, query) },
  ].filter(({ items }) => items.length > 0);
}

function useAccountItems(): PaletteItem[] {
  const { accounts } = useAccounts();
  return accounts
    .filter(({ slug }) => slug !== accountSlug())
    .map(({ id, name, slug }) => ({
      key: id,
      label: name,
      keywords: 'account',
      icon: IconBuildings,
      run: () => window.location.assign(`/${slug}`),
    }));
}

/** Open incidents, which are shown only for a search. */
function useIncidentItems(query: string): PaletteItem[] {
  const navigate = useNavigate();
  const { data: incidents = [] } = useQuery(openIncidentsQuery);
  const words = query.trim().toLowerCase();
  if (words === '') return [];
  const hasWords = searchMatcher(words);
  return incidents
    .map(({ id, monitorName, acknowledgedBy }) => ({
      key: id,
      label: `Incident: ${monitorName}`,
      hint: acknowledgedBy === null ? 'Not acknowledged' : `Acknowledged by ${acknowledgedBy.name}`,
      icon: IconFlame,
      run: () => navigate({ to: '/incidents/$incidentId', params: { incidentId: id } }),
    }))
    .filter(({ label }) => hasWords(label.toLowerCase()))
    .slice(0, MAX_INCIDENTS);
}

function useMonitorItems(query: string): PaletteItem[] {
  const navigate = useNavigate();
  const { data: monitors } = useQuery(monitorsQuery);
  const { found, total } = useMemo(() => findMonitors(monitors ?? [], query), [monitors, query]);
  const items = found.map(({ id, name, url, failing, ...monitor }) => ({
    key: id,
    label: name,
    hint: url,
    icon: IconActivityHeartbeat,
    right: <StatusBadge status={shownStatus(monitor)} isFailing={failing} />,
    run: () => navigate({ to: '/monitors/$monitorId', params: { monitorId: id } }),
  }));
  if (total <= found.length) return items;
  const q = query.trim();
  const search = q === '' ? ({ status: 'DOWN' } as const) : { q };
  const all = {
    key: 'all',
    label: `All ${formatNumber(total)} monitors`,
    icon: IconSearch,
    run: () => navigate({ to: '/', search }),
  };
  return [...items, all];
}
