import type { MonitorOrder, MonitorsSearch } from '../monitors-search.ts';

export interface ColumnLook {
  readonly label: string;
  /** In pixels. The name column has at least its width and fills the rest. */
  readonly width: number;
  /** Order that a click on the header selects. */
  readonly order?: MonitorOrder;
  readonly hint?: string;
}

const LATENCY_PERIOD = 'last full hour and since';

export const COLUMNS = {
  status: { label: 'Status', width: 164, order: 'status' },
  name: { label: 'Monitor', width: 220, order: 'name' },
  checks: { label: 'Latest checks', width: 172 },
  latency: { label: 'Latency', width: 172 },
  p95: {
    label: 'p95',
    width: 84,
    order: 'latency',
    hint: `Latency of 95 % of the checks, ${LATENCY_PERIOD}`,
  },
  p99: { label: 'p99', width: 84, order: 'p99', hint: `Latency of 99 % of the checks, ${LATENCY_PERIOD}` },
  certificate: { label: 'Certificate', width: 116, order: 'certificate', hint: 'Time until it expires' },
  regions: { label: 'Regions', width: 120 },
  checked: { label: 'Last check', width: 116, order: 'checked' },
} as const satisfies Record<string, ColumnLook>;
export type Column = keyof typeof COLUMNS;

const COLUMN_ORDER = Object.keys(COLUMNS) as Column[];

/** Width without the sparkline. */
const COMPACT_LATENCY_WIDTH = 92;

/** Optional columns. The labels are a line below the name. */
export const CHOICES = {
  labels: 'Labels',
  checks: COLUMNS.checks.label,
  latency: COLUMNS.latency.label,
  p95: 'Latency p95',
  p99: 'Latency p99',
  certificate: 'Certificate expiry',
  regions: COLUMNS.regions.label,
  checked: COLUMNS.checked.label,
} as const;
export type ColumnChoice = keyof typeof CHOICES;
const ALL = Object.keys(CHOICES) as ColumnChoice[];
const DEFAULT: readonly ColumnChoice[] = ['labels', 'checks', 'latency', 'regions', 'checked'];

/** On a narrow page, columns are hidden in this order. */
const GIVE_WAY: readonly Column[] = ['regions', 'checked', 'latency', 'p99', 'certificate', 'p95', 'checks'];

/** Column of the sort key, by order. */
const ORDERED_BY: Partial<Record<MonitorOrder, ColumnChoice>> = {
  latency: 'p95',
  p99: 'p99',
  certificate: 'certificate',
  checked: 'checked',
};

/** The chosen columns and the column of the order. Unknown names are ignored. */
export function readColumns({ columns, order = 'status' }: MonitorsSearch): readonly ColumnChoice[] {
  const chosen: readonly string[] = columns === undefined ? DEFAULT : columns.split(',');
  return ALL.filter((choice) => chosen.includes(choice) || ORDERED_BY[order] === choice);
}

/** URL parameter for the columns, or undefined for the default. */
export function writeColumns(chosen: readonly ColumnChoice[]): string | undefined {
  const text = ALL.filter((choice) => chosen.includes(choice)).join(',');
  return text === DEFAULT.join(',') ? undefined : text;
}

export interface FittingColumns {
  readonly columns: readonly Column[];
  /** True if the latency has no sparkline. */
  readonly isCompact: boolean;
}

/** Returns the columns for a table of this width, always with the column of the order. @param width in pixels */
export function fitColumns(
  choices: readonly ColumnChoice[],
  order: MonitorOrder,
  width: number,
): FittingColumns {
  let columns = COLUMN_ORDER.filter(
    (column) => column === 'status' || column === 'name' || choices.some((choice) => choice === column),
  );
  if (widthOf(columns, false) <= width) return { columns, isCompact: false };
  for (const column of GIVE_WAY) {
    if (widthOf(columns, true) <= width) break;
    if (ORDERED_BY[order] !== column) columns = columns.filter((other) => other !== column);
  }
  return { columns, isCompact: true };
}

/** A phone shows one figure, which is the column that the list is ordered by, or the latency. */
export function phoneColumns(order: MonitorOrder): FittingColumns {
  const figure = COLUMN_ORDER.find((column) => column === ORDERED_BY[order]) ?? 'latency';
  return { columns: ['status', 'name', 'checks', figure], isCompact: true };
}

function widthOf(columns: readonly Column[], isCompact: boolean): number {
  return columns.reduce((sum, column) => sum + columnWidth(column, isCompact), 0);
}

/** In pixels. */
export function columnWidth(column: Column, isCompact: boolean): number {
  return column === 'latency' && isCompact ? COMPACT_LATENCY_WIDTH : COLUMNS[column].width;
}
