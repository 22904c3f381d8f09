import { Select } from '@mantine/core';
import { useMemo, type ReactNode } from 'react';
import { readerZone, timeZones } from '../components/zoned-time.ts';

interface TimeZoneSelectProps {
  readonly value: string;
  readonly onChange: (zone: string) => void;
  readonly error: ReactNode;
}

/** Every time zone, found by typing a part of its name. */
export function TimeZoneSelect({ value, onChange, error }: TimeZoneSelectProps): ReactNode {
  const reader = readerZone();
  const zones = useMemo(() => timeZones(value, reader), [value, reader]);
  return (
    <Select
      label="Time zone"
      description={
        value === reader
          ? 'Yours. A recurring window keeps its local time when clocks change.'
          : `Yours is ${reader}. A recurring window keeps its local time when clocks change.`
      }
      data={zones}
      value={value}
      onChange={(zone) => zone !== null && onChange(zone)}
      searchable
      allowDeselect={false}
      maxDropdownHeight={260}
      nothingFoundMessage="No such time zone"
      error={error}
    />
  );
}
