import { Button, Combobox, Group, Skeleton, Text, TextInput, useCombobox } from '@mantine/core';
import { IconSearch, IconSquare, IconSquareCheckFilled } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useState } from 'react';
import { monitorsQuery } from '../monitors/queries.ts';
import { formatNumber } from './format.ts';
import { filterMonitors, sortMonitors } from './filter-monitors.ts';
import { Loaded } from './load-states.tsx';
import classes from './monitor-select.module.css';

/** More options would slow down typing. */
const MAX_OPTIONS = 200;
const NONE: readonly string[] = [];

interface MonitorSelectProps {
  readonly value?: readonly string[];
  readonly onChange: (ids: string[]) => void;
  readonly error?: ReactNode;
  readonly label?: string;
  readonly description?: string;
  /** Filters the listed monitors. Must be stable. @default all */
  readonly isListed?: (monitor: MonitorOverview) => boolean;
  readonly max?: number;
}

const ALL = (): boolean => true;

export function MonitorSelect(props: MonitorSelectProps): ReactNode {
  const { value = NONE, onChange, error, label = 'Monitors', description } = props;
  const { isListed = ALL, max = Infinity } = props;
  const [search, setSearch] = useState('');
  const query = useQuery(monitorsQuery);
  const combobox = useCombobox({ opened: true, loop: false });
  const { selectFirstOption, selectOption, resetSelectedOption } = combobox;
  const selected = useMemo(() => new Set(value), [value]);
  // The initial selection comes first. The order stays, so that nothing moves under the pointer.
  const [first] = useState(selected);
  const sorted = useMemo(
    () => sortMonitors((query.data ?? []).filter(isListed), first),
    [query.data, isListed, first],
  );
  const found = useMemo(() => filterMonitors(sorted, search), [sorted, search]);
  const hasMatches = found.length > 0;
  const isOver = value.length > max;
  const withFound = [...new Set([...value, ...found.map(({ id }) => id)])];
  useEffect(() => {
    // Enter selects the first match.
    if (search !== '' && hasMatches) selectFirstOption();
    else resetSelectedOption();
  }, [search, hasMatches, selectFirstOption, resetSelectedOption]);
  const toggle = (id: string): void =>
    onChange(selected.has(id) ? value.filter((one) => one !== id) : [...value, id]);
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter selects a monitor and must not submit the form.
    if (event.key === 'Enter') event.preventDefault();
    // Home and End move within the text, if there is any.
    if (search !== '' || (event.key !== 'Home' && event.key !== 'End')) return;
    event.preventDefault();
    selectOption(event.key === 'Home' ? 0 : Math.min(found.length, MAX_OPTIONS) - 1);
  };
  return (
    <div>
      <Combobox store={combobox} onOptionSubmit={toggle}>
        <Combobox.EventsTarget>
          <TextInput
            label={label}
            description={description}
            error={error ?? (isOver && `Select at most ${formatNumber(max)} monitors.`)}
            placeholder="Search by name or URL"
            leftSection={<IconSearch size={16} aria-hidden />}
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
        </Combobox.EventsTarget>
        <Group justify="space-between" my={4} mih={30} gap="xs">
          <Text size="xs" c="var(--text-quiet)" role="status" className="tabular">
            {formatNumber(value.length)} {max < Infinity && `of at most ${formatNumber(max)} `}selected
            {search !== '' && `, ${formatNumber(found.length)} found`}
          </Text>
          <Group gap={4}>
            <Button
              size="compact-xs"
              variant="subtle"
              disabled={!hasMatches || withFound.length > max}
              onClick={() => onChange(withFound)}
            >
              {search === '' ? 'Select all' : 'Select matches'}
            </Button>
            <Button
              size="compact-xs"
              variant="subtle"
              color="gray"
              disabled={value.length === 0}
              onClick={() => onChange([])}
            >
              Clear selection
            </Button>
          </Group>
        </Group>
        <Loaded query={query} pending={<Skeleton height={220} />}>
          {() => (
            <Combobox.Options
              aria-label={label}
              aria-multiselectable
              // A scrolling element must be reachable by keyboard.
              tabIndex={0}
              className={classes['options'] ?? ''}
            >
              {found.slice(0, MAX_OPTIONS).map(({ id, name, url }) => {
                const isSelected = selected.has(id);
                const Icon = isSelected ? IconSquareCheckFilled : IconSquare;
                return (
                  <Combobox.Option
                    key={id}
                    value={id}
                    active={isSelected}
                    aria-selected={isSelected}
                    className={classes['option'] ?? ''}
                  >
                    <Icon size={18} aria-hidden className={classes['box']} />
                    <Text component="span" size="sm" truncate className={classes['name'] ?? ''}>
                      {name}
                    </Text>
                    <Text component="span" size="xs" c="var(--text-quiet)" truncate>
                      {url}
                    </Text>
                  </Combobox.Option>
                );
              })}
              {(found.length === 0 || found.length > MAX_OPTIONS) && (
                <Text size="sm" c="var(--text-quiet)" p="xs" role="presentation">
                  {found.length === 0
                    ? 'No monitor has this text in its name or URL.'
                    : `Showing ${MAX_OPTIONS} of ${formatNumber(found.length)}. Search to narrow the list.`}
                </Text>
              )}
            </Combobox.Options>
          )}
        </Loaded>
      </Combobox>
    </div>
  );
}
