import { CloseButton, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useDebouncedCallback, useHotkeys } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { labelDefaultRegion } from '../../regions/regions.ts';
import { useDefaultRegion } from '../../session/session.ts';
import { MONITOR_ORDERS, type MonitorsSearch } from '../monitors-search.ts';
import type { Arrangement } from './arrange-monitors.ts';
import classes from './monitors-toolbar.module.css';
import { StatusFilter } from './status-filter.tsx';

const SEARCH_AFTER_MS = 150;
const ORDER_LABELS = {
  status: 'Down first',
  name: 'By name',
  latency: 'Slowest first',
  newest: 'Newest first',
} as const satisfies Record<(typeof MONITOR_ORDERS)[number], string>;

interface MonitorsToolbarProps {
  readonly arrangement: Arrangement;
  readonly search: MonitorsSearch;
  readonly onChange: (change: MonitorsSearch) => void;
}

/** What the list is searched, filtered and sorted by. */
export function MonitorsToolbar({ arrangement, search, onChange }: MonitorsToolbarProps): ReactNode {
  const { counts, regions } = arrangement;
  const defaultRegion = useDefaultRegion();
  const regionChoices = [...new Set([...regions, ...(search.region === undefined ? [] : [search.region])])];
  return (
    <Stack gap="sm" mb="md">
      <Group gap="xs">
        <SearchField value={search.q ?? ''} onChange={(q) => onChange({ q: q === '' ? undefined : q })} />
        {regionChoices.length > 1 && (
          <NativeSelect
            aria-label="Region"
            className={classes['choice'] ?? ''}
            value={search.region ?? ''}
            onChange={({ currentTarget: { value } }) =>
              onChange({ region: value === '' ? undefined : value })
            }
            data={[
              { value: '', label: 'All regions' },
              ...regionChoices.map((value) => ({
                value,
                label: value === defaultRegion ? labelDefaultRegion(value) : value,
              })),
            ]}
          />
        )}
        <NativeSelect
          aria-label="Order"
          className={classes['choice'] ?? ''}
          value={search.order ?? 'status'}
          onChange={({ currentTarget: { value } }) =>
            onChange({ order: MONITOR_ORDERS.find((order) => order === value && order !== 'status') })
          }
          data={MONITOR_ORDERS.map((value) => ({ value, label: ORDER_LABELS[value] }))}
        />
      </Group>
      <StatusFilter counts={counts} value={search.status} onChange={(status) => onChange({ status })} />
    </Stack>
  );
}

interface SearchFieldProps {
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function SearchField({ value, onChange }: SearchFieldProps): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const told = useRef(value);
  const tell = useDebouncedCallback((next: string) => {
    told.current = next;
    onChange(next);
  }, SEARCH_AFTER_MS);
  // The address changed by something else: going back, or clearing the filters.
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    tell.cancel();
    setText(value);
  }, [value, tell]);
  useHotkeys([['/', () => input.current?.focus()]]);
  const type = (next: string): void => {
    setText(next);
    tell(next);
  };
  return (
    <TextInput
      ref={input}
      type="search"
      className={classes['search'] ?? ''}
      aria-label="Search monitors"
      placeholder="Search by name, URL, external id or source"
      aria-keyshortcuts="/"
      leftSection={<IconSearch size={16} aria-hidden />}
      rightSection={text !== '' && <CloseButton aria-label="Clear the search" onClick={() => type('')} />}
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
    />
  );
}
