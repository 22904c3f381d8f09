import { Group, Radio, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { formatSelector } from '@tocsin/contracts/labels/selector-syntax';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { type ReactNode, useMemo } from 'react';
import { formatCount, formatNumber, listNames } from '../components/format.ts';
import { MonitorSelect } from '../components/monitor-select.tsx';
import { Quiet } from '../components/text.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { type Coverage, type CoverageValues, describeCoverage, listCovered } from './coverage.ts';
import { readSelector } from './selector-text.ts';

const MAX_NAMES = 5;
const MAX_SUMMARY_NAMES = 12;

interface CoverageFieldsProps {
  readonly label: string;
  readonly maxSelected?: number;
  readonly form: {
    readonly values: CoverageValues;
    getInputProps(field: keyof CoverageValues): {
      readonly onChange: (value: unknown) => void;
      readonly error?: ReactNode;
    };
  };
}

/** Chooses the monitors for a channel or maintenance window. These are all monitors, or some by label and by name. */
export function CoverageFields({ label, maxSelected, form }: CoverageFieldsProps): ReactNode {
  const { allMonitors, monitorIds, selector } = form.values;
  const all = form.getInputProps('allMonitors');
  const text = form.getInputProps('selector');
  return (
    <Stack>
      <Radio.Group
        label={label}
        value={allMonitors ? 'all' : 'chosen'}
        onChange={(value) => all.onChange(value === 'all')}
      >
        <Group mt="xs">
          <Radio value="all" label="All monitors, including future ones" />
          <Radio value="chosen" label="Selected monitors" />
        </Group>
      </Radio.Group>
      {!allMonitors && (
        <>
          <TextInput
            label="Label selector"
            description="Adds the monitors that match, now and later, to those selected below."
            placeholder="app=shop,tier in (web,api),!legacy"
            spellCheck={false}
            autoCapitalize="none"
            {...text}
            value={selector}
          />
          {text.error === undefined && <MatchPreview text={selector} />}
          <MonitorSelect
            {...form.getInputProps('monitorIds')}
            value={monitorIds}
            {...(maxSelected !== undefined && {
              max: maxSelected,
              description: `At most ${formatNumber(maxSelected)}. For more, use a label selector or all monitors.`,
            })}
          />
        </>
      )}
    </Stack>
  );
}

/** Covered monitors, or undefined while they load. */
export function useCovered(coverage: Coverage): readonly MonitorOverview[] | undefined {
  const { monitorIds, allMonitors, selector, sources = null } = coverage;
  const { data } = useQuery(monitorsQuery);
  return useMemo(
    () => data && listCovered({ monitorIds, allMonitors, selector, sources }, data),
    [data, monitorIds, allMonitors, selector, sources],
  );
}

/** The number of monitors, such as `3 monitors`. */
export function CoveredCount({ coverage }: { readonly coverage: Coverage }): ReactNode {
  const { data } = useQuery(monitorsQuery);
  return <span>{describeCoverage(coverage, data)}</span>;
}

/** The number of monitors, the selector, and the names of the monitors. */
export function CoverageSummary({ coverage }: { readonly coverage: Coverage }): ReactNode {
  const covered = useCovered(coverage) ?? [];
  return (
    <div>
      <CoveredCount coverage={coverage} />
      <SelectorNote coverage={coverage} />
      {!coverage.allMonitors && covered.length > 0 && <Quiet>{namesOf(covered, MAX_SUMMARY_NAMES)}</Quiet>}
    </div>
  );
}

/** The selector and the sources of a coverage. Renders nothing without them. */
export function SelectorNote({ coverage }: { readonly coverage: Coverage }): ReactNode {
  const { allMonitors, selector, sources = null } = coverage;
  return (
    <Quiet size="xs" style={{ overflowWrap: 'anywhere' }}>
      {!allMonitors && selector !== null && <code>{formatSelector(selector)}</code>}
      {sources !== null && <div>Only of the sources {sources.join(', ')}</div>}
    </Quiet>
  );
}

/** Formats as `Shop, Blog and 3 more`. */
export function namesOf(monitors: readonly MonitorOverview[], max: number): string {
  return listNames(
    monitors.map(({ name }) => name),
    max,
  );
}

const NONE: string[] = [];

/** Lists the monitors that currently match a selector. */
function MatchPreview({ text }: { readonly text: string }): ReactNode {
  const { selector } = useMemo(() => readSelector(text), [text]);
  const matched = useCovered({ monitorIds: NONE, allMonitors: false, selector });
  return (
    <div role="status">
      <Quiet size="xs" mt={-8}>
        {selector === null
          ? 'No selector: monitors are not matched by their labels.'
          : describeMatches(matched)}
      </Quiet>
    </div>
  );
}

/** Formats as `Matches 3 monitors: Shop, Blog and Search.` @param matched undefined while loading */
function describeMatches(matched: readonly MonitorOverview[] | undefined): string {
  if (matched === undefined) return 'Loading the monitors…';
  if (matched.length === 0) return 'Matches no monitors yet.';
  return `Matches ${formatCount(matched.length, 'monitor')}: ${namesOf(matched, MAX_NAMES)}.`;
}
