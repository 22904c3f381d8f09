import {
  Button,
  CloseButton,
  Group,
  Kbd,
  NativeSelect,
  Popover,
  Skeleton,
  Stack,
  TextInput,
} from '@mantine/core';
import { type Icon, IconAdjustmentsHorizontal, IconBookmark, IconSearch, IconX } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useId, useRef, useState } from 'react';
import { formatNumber } from '../../components/format.ts';
import { isSlash, useShortcut } from '../../components/shortcuts.ts';
import { Quiet, StatusBadge } from '../../components/text.tsx';
import { useTypedText } from '../../components/typed-text.ts';
import { completeSelector } from '../../labels/complete-selector.ts';
import { readSelector } from '../../labels/selector-text.ts';
import { labelDefaultRegion } from '../../regions/regions.ts';
import { useCan, useDefaultRegion } from '../../session/session.ts';
import { monitorsQuery } from '../queries.ts';
import { type MONITOR_FILTERS, MONITOR_ORDERS, type MonitorOrder } from '../monitors-search.ts';
import type { StatusCounts } from './arrange-monitors.ts';
import type { DisplayPanelProps } from './display-panel.tsx';
import classes from './monitors-toolbar.module.css';
import { STATUS_ORDER } from './sort-monitors.ts';

const DisplayPanel = lazy(async () => ({ default: (await import('./display-panel.tsx')).DisplayPanel }));
const ViewsPanel = lazy(async () => ({ default: (await import('./views-panel.tsx')).ViewsPanel }));

const ORDER_LABELS = {
  status: 'Down first',
  name: 'By name',
  latency: 'Slowest first (p95, last hour)',
  p99: 'Slowest first (p99, last hour)',
  certificate: 'Certificate expiry',
  checked: 'Last check, oldest first',
  newest: 'Newest first',
} as const satisfies Record<MonitorOrder, string>;
const FILTER_LABELS = {
  unacknowledged: 'Not acknowledged',
  expiring: 'Certificate expires in 30 days',
  unchecked: 'Not checked',
} as const satisfies Record<(typeof MONITOR_FILTERS)[number], string>;

interface MonitorsToolbarProps extends DisplayPanelProps {
  readonly isSelecting: boolean;
  readonly onSelecting: () => void;
}

export function MonitorsToolbar(props: MonitorsToolbarProps): ReactNode {
  const { arrangement, search, onChange, isSelecting, onSelecting } = props;
  const { counts, regions, labelKeys } = arrangement;
  const defaultRegion = useDefaultRegion();
  const can = useCan();
  const regionChoices = [...new Set([...regions, ...(search.region === undefined ? [] : [search.region])])];
  const [isFolded, setFolded] = useState(true);
  const { status, region, selector, show } = search;
  const active = [status, region, selector, show].filter((filter) => filter !== undefined).length;
  return (
    <Stack gap="sm" mb="md" className={classes['toolbar'] ?? ''} mod={{ folded: isFolded }}>
      <Group gap="xs">
        <SearchField value={search.q ?? ''} onChange={(q) => onChange({ q: q === '' ? undefined : q })} />
        <Button
          variant="default"
          px="sm"
          hiddenFrom="sm"
          aria-expanded={!isFolded}
          onClick={() => setFolded(!isFolded)}
        >
          Filters{active > 0 && `: ${active}`}
        </Button>
        {(labelKeys.length > 0 || search.selector !== undefined) && (
          <SelectorField
            value={search.selector ?? ''}
            onChange={(selector) => onChange({ selector: selector === '' ? undefined : selector })}
          />
        )}
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
            onChange({
              order: MONITOR_ORDERS.find((order) => order === value && order !== 'status'),
              reverse: undefined,
            })
          }
          data={MONITOR_ORDERS.map((value) => ({ value, label: ORDER_LABELS[value] }))}
        />
      </Group>
      <Group gap="sm" justify="space-between" className={classes['more'] ?? ''}>
        <StatusFilter counts={counts} search={search} onChange={onChange} />
        <Group gap="xs">
          <LazyPopover label="Views" icon={IconBookmark}>
            {(close) => <ViewsPanel search={search} onChoose={close} />}
          </LazyPopover>
          <LazyPopover label="Display" icon={IconAdjustmentsHorizontal}>
            {() => <DisplayPanel {...props} />}
          </LazyPopover>
          {can.change && (
            <Button variant="default" px="sm" aria-pressed={isSelecting} onClick={onSelecting}>
              {isSelecting ? 'Done' : 'Select'}
            </Button>
          )}
        </Group>
      </Group>
    </Stack>
  );
}

interface LazyPopoverProps {
  readonly label: string;
  readonly icon: Icon;
  /** Rendered only while the popover is open. */
  readonly children: (close: () => void) => ReactNode;
}

function LazyPopover({ label, icon: Icon, children }: LazyPopoverProps): ReactNode {
  const [opened, setOpened] = useState(false);
  return (
    <Popover
      opened={opened}
      onChange={setOpened}
      position="bottom-end"
      shadow="md"
      trapFocus
      returnFocus
      withinPortal={false}
    >
      <Popover.Target>
        <Button
          variant="default"
          px="sm"
          leftSection={<Icon size={16} aria-hidden />}
          aria-haspopup="dialog"
          onClick={() => setOpened(!opened)}
        >
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={label} className={classes['panel'] ?? ''}>
        {opened && (
          <Suspense fallback={<Skeleton height={160} />}>{children(() => setOpened(false))}</Suspense>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

interface SearchFieldProps {
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function SearchField({ value, onChange }: SearchFieldProps): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  const { text, type } = useTypedText(value, onChange);
  useShortcut(isSlash, () => input.current?.focus());
  return (
    <TextInput
      ref={input}
      type="search"
      className={classes['search'] ?? ''}
      aria-label="Search monitors"
      placeholder="Search by name, URL, label, external ID or source"
      aria-keyshortcuts="/"
      leftSection={<IconSearch size={16} aria-hidden />}
      rightSection={
        text === '' ? (
          <Kbd size="xs" visibleFrom="sm" aria-hidden>
            /
          </Kbd>
        ) : (
          <CloseButton aria-label="Clear search" onClick={() => type('')} />
        )
      }
      value={text}
      onChange={(event) => type(event.currentTarget.value)}
    />
  );
}

/** Filters by a label selector. An error floats above the list, so that the list does not move. */
function SelectorField({ value, onChange }: SearchFieldProps): ReactNode {
  const { text, type } = useTypedText(value, onChange);
  const queryClient = useQueryClient();
  const [completions, setCompletions] = useState<readonly string[]>([]);
  const complete = (typed: string): void =>
    setCompletions(completeSelector(typed, queryClient.getQueryData(monitorsQuery.queryKey) ?? []));
  const id = useId();
  return (
    <>
      <TextInput
        list={id}
        className={classes['selector'] ?? ''}
        classNames={{ wrapper: classes['input'] ?? '', error: classes['error'] ?? '' }}
        aria-label="Filter by labels"
        placeholder="Labels: app=shop,tier in (web,api),!old"
        spellCheck={false}
        autoCapitalize="none"
        rightSection={text !== '' && <CloseButton aria-label="Clear labels" onClick={() => type('')} />}
        value={text}
        error={readSelector(value).error}
        onFocus={() => complete(text)}
        onChange={({ currentTarget: { value: typed } }) => {
          type(typed);
          complete(typed);
        }}
      />
      <datalist id={id}>
        {completions.map((completion) => (
          <option key={completion}>{completion}</option>
        ))}
      </datalist>
    </>
  );
}

interface StatusFilterProps extends Pick<DisplayPanelProps, 'search' | 'onChange'> {
  readonly counts: StatusCounts;
}

function StatusFilter({ counts, search: { status: value, show }, onChange }: StatusFilterProps): ReactNode {
  const all = STATUS_ORDER.reduce((sum, status) => sum + counts[status], 0);
  return (
    <Group gap={6} role="group" aria-label="Show by status">
      <Chip isSelected={value === undefined} count={all} onClick={() => onChange({ status: undefined })}>
        All
      </Chip>
      {STATUS_ORDER.map((status) => (
        <Chip
          key={status}
          isSelected={value === status}
          count={counts[status]}
          onClick={() => onChange({ status: value === status ? undefined : status })}
        >
          <StatusBadge status={status} />
        </Chip>
      ))}
      {show !== undefined && (
        <Chip isSelected onClick={() => onChange({ show: undefined })}>
          {FILTER_LABELS[show]} <IconX size={14} aria-hidden />
        </Chip>
      )}
    </Group>
  );
}

interface ChipProps {
  readonly isSelected: boolean;
  readonly count?: number;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

function Chip({ isSelected, count, onClick, children }: ChipProps): ReactNode {
  return (
    <Button
      variant="default"
      size="sm"
      px="sm"
      className={classes['chip'] ?? ''}
      aria-pressed={isSelected}
      mod={{ none: count === 0 }}
      rightSection={count !== undefined && <Quiet inline>{formatNumber(count)}</Quiet>}
      onClick={onClick}
    >
      {children}
    </Button>
  );
}
