import { Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo, type ReactNode } from 'react';
import { monitorsQuery } from '../monitors/queries.ts';

/** More are found by typing. */
const MOST_SHOWN = 50;

interface MonitorFilterProps {
  /** Null: all. */
  readonly value: string | null;
  readonly onChange: (monitorId: string | null) => void;
}

export function MonitorFilter({ value, onChange }: MonitorFilterProps): ReactNode {
  const { data } = useQuery(monitorsQuery);
  const choices = useMemo(() => data?.map(({ id, name }) => ({ value: id, label: name })) ?? [], [data]);
  return (
    <Select
      aria-label="Monitor"
      placeholder="All monitors"
      size="sm"
      w={{ base: '100%', xs: 240 }}
      data={choices}
      value={value}
      onChange={onChange}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': 'Show all monitors' }}
      limit={MOST_SHOWN}
      nothingFoundMessage="No such monitor"
    />
  );
}
