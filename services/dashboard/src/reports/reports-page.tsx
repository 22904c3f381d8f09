import { Group, NativeSelect, TextInput, type TextInputProps } from '@mantine/core';
import { IconCalendarStats, IconDownload, IconPrinter } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { AvailabilityReport } from '@tocsin/contracts/reports/availability';
import { type ReactNode, useState } from 'react';
import { ApiError } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { downloadCsv } from '../components/csv.ts';
import { formatCount, formatLocal } from '../components/format.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { EmptyState, PageHeader, Panel, ScrollRegion } from '../components/page.tsx';
import { useNow } from '../components/text.tsx';
import { keysOf } from '../labels/label-text.ts';
import { readSelector } from '../labels/selector-text.ts';
import { monitorsQuery } from '../monitors/queries.ts';
import { availabilityQuery } from './queries.ts';
import { columnsOf, reportCsv, reportFileName, type SortKey, sortKeyOf, sortRows } from './report-columns.ts';
import {
  formatDays,
  type FullSearch,
  PRESET_CHOICES,
  presetDays,
  presetOf,
  type ReportSearch,
  toInstants,
} from './report-period.ts';
import { ReportTable } from './report-table.tsx';
import classes from './reports.module.css';

const route = getRouteApi('/signed-in/reports');

/** Availability of monitors over a period. The address contains everything that the report depends on. */
export function ReportsPage(): ReactNode {
  const given = route.useSearch();
  // The route has completed it.
  const { from = '', to = '', zone = 'UTC' } = given;
  const search: FullSearch = { ...given, from, to, zone };
  const navigate = route.useNavigate();
  const change = (changes: ReportSearch): void =>
    void navigate({ replace: true, search: (before) => ({ ...before, ...changes }) });
  const query = useQuery(availabilityQuery(search));
  const sort = sortKeyOf(search.sort);
  const isBestFirst = search.order === 'best';
  const report = query.data;
  const rows = sortRows(report?.rows ?? [], sort, isBestFirst);
  const sortBy = (key: SortKey): void =>
    change({ sort: key, order: key === sort && !isBestFirst ? 'best' : undefined });
  return (
    <div className={classes['report']}>
      <PageHeader
        title="Availability report"
        hint={describeReport(search, report)}
        actions={
          report !== undefined && (
            <>
              <IconButton
                icon={IconDownload}
                disabled={query.isPlaceholderData}
                onClick={() => downloadCsv(reportFileName(search), reportCsv(report, rows))}
              >
                CSV
              </IconButton>
              <IconButton icon={IconPrinter} onClick={() => window.print()}>
                Print
              </IconButton>
            </>
          )
        }
      />
      <Controls search={search} error={query.error} onChange={change} />
      <Loaded query={query} pending={<Placeholder heights={[320]} />}>
        {(loaded) =>
          loaded.rows.length === 0 ? (
            <EmptyState icon={IconCalendarStats} title="No monitors">
              {search.selector === undefined
                ? 'Add a monitor, and its availability appears here.'
                : 'No monitor has these labels.'}
            </EmptyState>
          ) : (
            <div aria-busy={query.isPlaceholderData} className={classes['result']}>
              <Panel>
                <ScrollRegion label="Availability by row">
                  <ReportTable
                    report={loaded}
                    rows={rows}
                    search={search}
                    sort={sort}
                    isBestFirst={isBestFirst}
                    onSort={sortBy}
                  />
                </ScrollRegion>
              </Panel>
            </div>
          )
        }
      </Loaded>
    </div>
  );
}

/** What the report is of, on screen and on paper. */
function describeReport(search: FullSearch, report: AvailabilityReport | undefined): string {
  const { zone, selector = '', maintenance } = search;
  const isCut = report !== undefined && report.to !== toInstants(search, zone).to;
  return [
    `${formatDays(search)}, ${zone}`,
    isCut && `until ${formatLocal(new Date(report.to))}`,
    report !== undefined && formatCount(report.total.monitors, 'monitor'),
    selector !== '' && `labels ${selector}`,
    `maintenance ${maintenance ?? 'excluded'}`,
  ]
    .filter((part) => part !== false)
    .join(' · ');
}

interface ControlsProps {
  readonly search: FullSearch;
  /** Of the last attempt. */
  readonly error: unknown;
  readonly onChange: (changes: ReportSearch) => void;
}

/** Period, grouping and filter of the report. */
function Controls({ search, error, onChange }: ControlsProps): ReactNode {
  const { zone, groupBy = 'monitor', selector = '', maintenance } = search;
  const { data: monitors = [] } = useQuery(monitorsQuery);
  const now = useNow();
  const errorOf = (field: string): string | undefined =>
    error instanceof ApiError ? error.fields.find(({ path }) => path === field)?.message : undefined;
  const keys = keysOf(monitors).filter((key) => key !== 'monitor');
  const groups = [...new Set([...keys, ...(groupBy === 'monitor' ? [] : [groupBy])])];
  return (
    <Group gap="sm" mb="md" align="flex-start" className={classes['controls'] ?? ''}>
      <NativeSelect
        label="Period"
        value={presetOf(search, now, zone) ?? 'custom'}
        onChange={({ currentTarget: { value } }) => {
          const preset = PRESET_CHOICES.find((choice) => choice.value === value);
          if (preset !== undefined) onChange(presetDays(preset.value, now, zone));
        }}
        data={[...PRESET_CHOICES, { value: 'custom', label: 'Custom' }]}
      />
      <DayField
        label="From"
        value={search.from}
        error={errorOf('from')}
        onSubmit={(from) => onChange({ from })}
      />
      <DayField label="To" value={search.to} error={errorOf('to')} onSubmit={(to) => onChange({ to })} />
      <NativeSelect
        label="Group by"
        value={groupBy}
        onChange={({ currentTarget: { value } }) =>
          onChange({ groupBy: value === 'monitor' ? undefined : value })
        }
        data={[{ value: 'monitor', label: 'Monitor' }, ...groups]}
      />
      <NativeSelect
        label="Maintenance"
        value={maintenance ?? 'excluded'}
        onChange={({ currentTarget: { value } }) =>
          onChange({ maintenance: value === 'included' ? 'included' : undefined })
        }
        data={[
          { value: 'excluded', label: 'Excluded' },
          { value: 'included', label: 'Included' },
        ]}
      />
      <NativeSelect
        label="Sort by"
        hiddenFrom="sm"
        value={sortKeyOf(search.sort)}
        onChange={({ currentTarget: { value } }) => onChange({ sort: value, order: undefined })}
        data={[
          { value: 'name', label: 'Name' },
          ...columnsOf({ groupBy }).map(({ key, title }) => ({ value: key, label: title })),
        ]}
      />
      <DraftField
        label="Labels"
        placeholder="app=shop,tier in (web,api)"
        className={classes['selector'] ?? ''}
        spellCheck={false}
        autoCapitalize="none"
        value={selector}
        error={readSelector(selector).error}
        onSubmit={(text) => onChange({ selector: text.trim() === '' ? undefined : text })}
      />
    </Group>
  );
}

interface DraftFieldProps extends Omit<TextInputProps, 'onSubmit'> {
  readonly value: string;
  readonly onSubmit: (text: string) => void;
}

/** A field whose text takes effect when the reader leaves it or presses Enter: a report is too expensive for each keystroke. */
function DraftField({ value, onSubmit, ...props }: DraftFieldProps): ReactNode {
  const [draft, setDraft] = useState({ of: value, text: value });
  if (draft.of !== value) setDraft({ of: value, text: value });
  const submit = (): void => {
    if (draft.text === '' && props.required === true) setDraft({ of: value, text: value });
    else if (draft.text !== value) onSubmit(draft.text);
  };
  return (
    <TextInput
      {...props}
      value={draft.text}
      onChange={(event) => setDraft({ of: value, text: event.currentTarget.value })}
      onBlur={submit}
      onKeyDown={(event) => {
        if (event.key === 'Enter') submit();
      }}
    />
  );
}

/** A day such as `2026-03-01`. */
function DayField(props: DraftFieldProps): ReactNode {
  return <DraftField type="date" required withAsterisk={false} {...props} />;
}
