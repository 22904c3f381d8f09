import { Group, NativeSelect, TextInput, type TextInputProps } from '@mantine/core';
import { IconCalendarStats, IconDownload, IconPrinter } from '@tabler/icons-react';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import type { AvailabilityReport } from '@tocsin/contracts/reports/availability';
import { type ReactNode, type Ref, useRef, useState } from 'react';
import { api, ApiError } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { downloadCsv } from '../components/csv.ts';
import { toFormErrors } from '../components/form.ts';
import { formatCount, formatLocal } from '../components/format.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { EmptyState, PageHeader, Panel, ScrollRegion } from '../components/page.tsx';
import { useNow } from '../components/text.tsx';
import { useTypedText } from '../components/typed-text.ts';
import { keysOf } from '../labels/label-text.ts';
import { monitorsQuery } from '../monitors/queries.ts';
import { columnsOf, reportCsv, reportFileName, sortKeyOf, sortRows } from './report-columns.ts';
import {
  findSearchErrors,
  formatDays,
  type FullSearch,
  isWholeDay,
  PRESET_CHOICES,
  presetDays,
  presetOf,
  type ReportSearch,
  type SearchErrors,
  toInstants,
} from './report-period.ts';
import { ReportTable } from './report-table.tsx';
import classes from './reports.module.css';

const route = getRouteApi('/signed-in/reports');
/** A report is too expensive for every keystroke. */
const APPLY_AFTER_MS = 500;

const availabilityQuery = ({ from, to, zone, groupBy, selector = '', maintenance }: FullSearch) => {
  const query = {
    ...toInstants({ from, to }, zone),
    groupBy: groupBy ?? 'monitor',
    selector,
    maintenance: maintenance ?? 'excluded',
  } as const;
  return queryOptions({
    queryKey: ['reports', 'availability', query],
    queryFn: async ({ signal }) =>
      (await api('GET /api/dashboard/reports/availability', { query, signal })).report,
    placeholderData: keepPreviousData,
    // Reports are expensive and describe a fixed period, so the live stream must not reload them.
    staleTime: 'static',
    gcTime: 60_000,
  });
};

/** Uptime and downtime of monitors over a period. The address contains all parameters of the report. */
export function ReportsPage(): ReactNode {
  const given = route.useSearch();
  const navigate = route.useNavigate();
  const search = toFull(given);
  const errors = findSearchErrors(search, useNow());
  const isValid = Object.keys(errors).length === 0;
  // While the address has errors, the last report remains.
  const [valid, setValid] = useState<ReportSearch | null>(null);
  if (isValid && valid !== given) setValid(given);
  const shown = isValid ? search : valid && toFull(valid);
  const query = useQuery({ ...availabilityQuery(shown ?? search), enabled: shown !== null });
  const change = (changes: ReportSearch): void =>
    void navigate({ replace: true, search: (before) => ({ ...before, ...changes }) });
  const sort = sortKeyOf(search.sort);
  const isBestFirst = search.order === 'best';
  const report = query.data;
  const serverErrors: SearchErrors = toFormErrors(query.error instanceof ApiError ? query.error.fields : []);
  const rows = sortRows(report?.rows ?? [], sort, isBestFirst);
  const isOutdated = query.isPlaceholderData || !isValid;
  return (
    <div className={classes['report']}>
      <PageHeader
        title="Availability report"
        hint={
          shown === null ? 'Uptime and downtime of monitors over a period' : describeReport(shown, report)
        }
        actions={
          shown !== null &&
          report !== undefined && (
            <>
              <IconButton
                icon={IconDownload}
                disabled={isOutdated}
                onClick={() => downloadCsv(reportFileName(shown), reportCsv(report, rows))}
              >
                CSV
              </IconButton>
              <IconButton icon={IconPrinter} disabled={isOutdated} onClick={() => window.print()}>
                Print
              </IconButton>
            </>
          )
        }
      />
      <Controls search={search} errors={{ ...serverErrors, ...errors }} onChange={change} />
      {shown !== null && (
        <Loaded query={query} pending={<Placeholder heights={[320]} />}>
          {(loaded) =>
            loaded.rows.length === 0 ? (
              <EmptyState icon={IconCalendarStats} title="No monitors">
                {shown.selector === undefined
                  ? 'Add a monitor, and its uptime appears here.'
                  : 'No monitor has these labels.'}
              </EmptyState>
            ) : (
              <div aria-busy={query.isPlaceholderData} className={classes['result']}>
                <Panel>
                  <ScrollRegion label="Availability by row">
                    <ReportTable
                      report={loaded}
                      rows={rows}
                      search={shown}
                      sort={sort}
                      isBestFirst={isBestFirst}
                      onSort={(key) =>
                        change({ sort: key, order: key === sort && !isBestFirst ? 'best' : undefined })
                      }
                    />
                  </ScrollRegion>
                </Panel>
              </div>
            )
          }
        </Loaded>
      )}
    </div>
  );
}

/** The route has already added the period. */
function toFull(search: ReportSearch): FullSearch {
  const { from = '', to = '', zone = 'UTC' } = search;
  return { ...search, from, to, zone };
}

/** Describes the parameters of the report on screen and in print. */
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
  readonly errors: SearchErrors;
  readonly onChange: (changes: ReportSearch) => void;
}

function Controls({ search, errors, onChange }: ControlsProps): ReactNode {
  const { groupBy = 'monitor', selector = '', maintenance } = search;
  const { data: monitors = [] } = useQuery(monitorsQuery);
  const select = (text: string): void => onChange({ selector: text.trim() === '' ? undefined : text });
  const labels = useTypedText(selector, select, APPLY_AFTER_MS);
  const keys = keysOf(monitors).filter((key) => key !== 'monitor');
  const groups = [...new Set([...keys, ...(groupBy === 'monitor' ? [] : [groupBy])])];
  return (
    <Group gap="sm" mb="md" align="flex-start" className={classes['controls'] ?? ''}>
      <PeriodFields search={search} errors={errors} onChange={onChange} />
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
      <TextInput
        label="Labels"
        placeholder="app=shop,tier in (web,api)"
        className={classes['selector'] ?? ''}
        spellCheck={false}
        autoCapitalize="none"
        value={labels.text}
        error={errors.selector}
        onChange={(event) => labels.type(event.currentTarget.value)}
      />
    </Group>
  );
}

function PeriodFields({ search, errors, onChange }: ControlsProps): ReactNode {
  const now = useNow();
  const fromField = useRef<HTMLInputElement>(null);
  const [isCustom, setCustom] = useState(false);
  const preset = isCustom ? null : presetOf(search, now, search.zone);
  return (
    <>
      <NativeSelect
        label="Period"
        value={preset ?? 'custom'}
        onChange={({ currentTarget: { value } }) => {
          const chosen = PRESET_CHOICES.find((choice) => choice.value === value);
          setCustom(chosen === undefined);
          if (chosen === undefined) fromField.current?.focus();
          else onChange(presetDays(chosen.value, now, search.zone));
        }}
        data={[...PRESET_CHOICES, { value: 'custom', label: 'Custom' }]}
      />
      <DayField
        ref={fromField}
        label="From"
        value={search.from}
        error={errors.from}
        onDay={(from) => onChange({ from })}
      />
      <DayField label="To" value={search.to} error={errors.to} onDay={(to) => onChange({ to })} />
    </>
  );
}

interface DayFieldProps extends TextInputProps {
  readonly ref?: Ref<HTMLInputElement>;
  readonly value: string;
  readonly onDay: (day: string) => void;
}

/** Applies a day such as `2026-03-01` as soon as it is complete. */
function DayField({ value, onDay, ...props }: DayFieldProps): ReactNode {
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <TextInput
      type="date"
      {...props}
      value={typed ?? value}
      onChange={({ currentTarget: { value: text } }) => {
        setTyped(text);
        if (isWholeDay(text)) onDay(text);
      }}
      onBlur={() => setTyped(null)}
    />
  );
}
