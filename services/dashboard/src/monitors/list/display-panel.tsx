import { Button, Checkbox, Group, NativeSelect, SimpleGrid, Stack } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { IconButton } from '../../components/buttons.tsx';
import { downloadCsv } from '../../components/csv.ts';
import { formatNumber } from '../../components/format.ts';
import { Quiet } from '../../components/text.tsx';
import { useDefaultRegion } from '../../session/session.ts';
import type { MonitorsSearch } from '../monitors-search.ts';
import { latenciesQuery, monitorsQuery } from '../queries.ts';
import type { Arrangement } from './arrange-monitors.ts';
import { CHOICES, readColumns, writeColumns } from './columns.ts';
import { monitorsToCsv } from './monitors-csv.ts';

export interface DisplayPanelProps {
  readonly arrangement: Arrangement;
  readonly search: MonitorsSearch;
  readonly onChange: (change: MonitorsSearch) => void;
  /** Values of the groups whose monitors are hidden. */
  readonly collapsed: ReadonlySet<string | null>;
  readonly onCollapsed: (values: ReadonlySet<string | null>) => void;
  /** True if each row has one line, except on a phone. */
  readonly isDense: boolean;
  readonly onDense: (isDense: boolean) => void;
}

/** Chooses grouping and columns of the list, and exports what the list shows. */
export function DisplayPanel(props: DisplayPanelProps): ReactNode {
  const { arrangement, search, onChange, collapsed, onCollapsed, isDense, onDense } = props;
  const { labelKeys, groups, ids } = arrangement;
  const { group = '' } = search;
  const keys = group === '' || labelKeys.includes(group) ? labelKeys : [group, ...labelKeys];
  return (
    <Stack gap="md">
      {keys.length > 0 && (
        <NativeSelect
          label="Group by label"
          value={group}
          onChange={({ currentTarget: { value } }) => {
            onCollapsed(new Set());
            onChange({ group: value === '' ? undefined : value });
          }}
          data={[{ value: '', label: 'No grouping' }, ...keys]}
        />
      )}
      {groups !== null && (
        <Group gap="xs">
          <Button
            size="xs"
            variant="default"
            disabled={groups.every(({ value }) => collapsed.has(value))}
            onClick={() => onCollapsed(new Set(groups.map(({ value }) => value)))}
          >
            Collapse all
          </Button>
          <Button
            size="xs"
            variant="default"
            disabled={collapsed.size === 0}
            onClick={() => onCollapsed(new Set())}
          >
            Expand all
          </Button>
        </Group>
      )}
      <Checkbox
        label="Compact rows"
        size="xs"
        visibleFrom="sm"
        checked={isDense}
        onChange={(event) => onDense(event.currentTarget.checked)}
      />
      <Checkbox.Group
        label="Columns"
        description="A narrow window shows as many as fit."
        value={[...readColumns(search)]}
        onChange={(values) => onChange({ columns: writeColumns(values) })}
      >
        <SimpleGrid cols={2} spacing="xs" mt="xs">
          {Object.entries(CHOICES).map(([value, label]) => (
            <Checkbox key={value} value={value} label={label} size="xs" />
          ))}
        </SimpleGrid>
      </Checkbox.Group>
      <ExportButton ids={ids} />
    </Stack>
  );
}

/** Exports the filtered monitors in their order. */
function ExportButton({ ids }: { readonly ids: readonly string[] }): ReactNode {
  const queryClient = useQueryClient();
  const defaultRegion = useDefaultRegion();
  const exportList = (): void => {
    const monitors = queryClient.getQueryData(monitorsQuery.queryKey) ?? [];
    const latencies = queryClient.getQueryData(latenciesQuery.queryKey) ?? [];
    const csv = monitorsToCsv(ids, monitors, latencies, defaultRegion);
    downloadCsv(`monitors-${new Date().toISOString().slice(0, 10)}.csv`, csv);
  };
  return (
    <div>
      <IconButton size="xs" icon={IconDownload} disabled={ids.length === 0} onClick={exportList}>
        Export CSV
      </IconButton>
      <Quiet mt={4}>The {formatNumber(ids.length)} monitors that the filters show.</Quiet>
    </div>
  );
}
