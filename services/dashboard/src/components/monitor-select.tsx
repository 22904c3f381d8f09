import { Button, Group, Input, Skeleton, Text, TextInput } from '@mantine/core';
import { useId } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, useMemo, useState } from 'react';
import { monitorsQuery } from '../monitors/queries.ts';
import { filterMonitors, sortMonitors } from './filter-monitors.ts';
import { Loaded } from './load-states.tsx';
import { MonitorOptions } from './monitor-options.tsx';

interface MonitorSelectProps {
  readonly label: string;
  readonly description?: ReactNode;
  /** Ids of the chosen monitors. */
  readonly value: readonly string[];
  readonly onChange: (ids: string[]) => void;
  readonly error?: ReactNode;
}

const KEYS = new Set(['ArrowDown', 'ArrowUp', 'Home', 'End', 'Enter']);

/** Chooses among all monitors of the account: searched by typing, moved in by arrow keys, chosen by Enter or a click. */
export function MonitorSelect(props: MonitorSelectProps): ReactNode {
  const { label, description, value, onChange, error } = props;
  const id = useId();
  const [search, setSearch] = useState('');
  const [active, setActive] = useState(0);
  const query = useQuery(monitorsQuery);
  const { data } = query;
  const chosen = useMemo(() => new Set(value), [value]);
  // Chosen ones come first as they were when the list was opened: nothing moves under the pointer.
  const [first] = useState(chosen);
  const sorted = useMemo(() => sortMonitors(data ?? [], first), [data, first]);
  const found = useMemo(() => filterMonitors(sorted, search), [sorted, search]);
  const isWrong = error !== null && error !== undefined;
  const toggle = (monitorId: string): void =>
    onChange(chosen.has(monitorId) ? value.filter((one) => one !== monitorId) : [...value, monitorId]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!KEYS.has(event.key)) return;
    // Home and End move in the text while there is one.
    if (search !== '' && (event.key === 'Home' || event.key === 'End')) return;
    event.preventDefault();
    const at = found[active];
    if (event.key === 'Enter') {
      if (at !== undefined) toggle(at.id);
      return;
    }
    setActive(moved(event.key, active, found.length));
  };
  return (
    <div role="group" aria-labelledby={`${id}-label`} {...(isWrong && { 'aria-describedby': `${id}-error` })}>
      <Input.Label id={`${id}-label`} htmlFor={`${id}-search`}>
        {label}
      </Input.Label>
      {description !== undefined && <Input.Description>{description}</Input.Description>}
      <TextInput
        id={`${id}-search`}
        mt={4}
        placeholder="Search by name or URL"
        value={search}
        onChange={(event) => {
          setSearch(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
        leftSection={<IconSearch size={16} aria-hidden />}
        role="combobox"
        aria-label={`${label}: search`}
        aria-expanded={data !== undefined}
        aria-controls={`${id}-options`}
        aria-autocomplete="list"
        aria-activedescendant={found[active] && `${id}-options-${active}`}
        error={isWrong}
        autoComplete="off"
      />
      <Group justify="space-between" my={4} mih={30} gap="xs">
        <Text size="xs" c="var(--text-quiet)" role="status" className="tabular">
          {value.length} chosen{search !== '' && `, ${found.length} found`}
        </Text>
        <Group gap={4}>
          <Button
            size="compact-xs"
            variant="subtle"
            disabled={found.length === 0}
            onClick={() => onChange([...new Set([...value, ...found.map((monitor) => monitor.id)])])}
          >
            {search === '' ? 'Choose all' : 'Choose those found'}
          </Button>
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            disabled={value.length === 0}
            onClick={() => onChange([])}
          >
            Choose none
          </Button>
        </Group>
      </Group>
      <Loaded query={query} pending={<Skeleton id={`${id}-options`} height={220} />}>
        {() => (
          <MonitorOptions
            id={`${id}-options`}
            label={label}
            monitors={found}
            chosen={chosen}
            active={active}
            onToggle={(monitorId, index) => {
              setActive(index);
              toggle(monitorId);
            }}
            onKeyDown={onKeyDown}
          />
        )}
      </Loaded>
      {isWrong && (
        <Input.Error mt={5} id={`${id}-error`}>
          {error}
        </Input.Error>
      )}
    </div>
  );
}

function moved(key: string, active: number, count: number): number {
  if (key === 'Home') return 0;
  if (key === 'End') return Math.max(0, count - 1);
  return Math.max(0, Math.min(count - 1, active + (key === 'ArrowDown' ? 1 : -1)));
}
