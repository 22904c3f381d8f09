import { Group, Select, Text } from '@mantine/core';
import { type ReactNode, useMemo, useState } from 'react';
import { findTimeZones, formatOffset, timeZones } from './time-zones.ts';
import { readerZone } from './zoned-time.ts';

interface TimeZoneSelectProps {
  /** An IANA name. */
  readonly value: string;
  readonly onChange: (zone: string) => void;
  readonly description: string;
  readonly error: ReactNode;
}

/** Selects a time zone by name, city, country or offset. */
export function TimeZoneSelect({ value, onChange, ...input }: TimeZoneSelectProps): ReactNode {
  const zones = useMemo(() => timeZones(value, readerZone()), [value]);
  const [nowMs] = useState(() => Date.now());
  const [search, setSearch] = useState(value);
  return (
    <Select
      label="Time zone"
      data={zones}
      value={value}
      onChange={(zone) => onChange(zone ?? value)}
      searchable
      searchValue={search}
      onSearchChange={setSearch}
      // Selecting the current zone triggers no change event.
      onOptionSubmit={setSearch}
      selectFirstOptionOnChange
      allowDeselect={false}
      maxDropdownHeight={260}
      nothingFoundMessage="No matching time zone. Search for a city, a country or an offset, such as +5:30."
      onFocus={({ currentTarget }) => currentTarget.select()}
      // The click that sets the focus would otherwise place the cursor within the name.
      onClick={({ currentTarget }) => {
        if (currentTarget.value === value) currentTarget.select();
      }}
      filter={({ search: wanted }) =>
        findTimeZones(zones, wanted, nowMs).map((zone) => ({ value: zone, label: zone }))
      }
      renderOption={({ option }) => (
        <Group justify="space-between" wrap="nowrap" gap="sm" w="100%">
          <span>{option.value}</span>
          <Text span size="xs" c="var(--text-quiet)" className="tabular">
            {formatOffset(option.value, nowMs)}
          </Text>
        </Group>
      )}
      {...input}
    />
  );
}
