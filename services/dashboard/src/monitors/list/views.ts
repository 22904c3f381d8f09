import { z } from 'zod';
import { type MonitorsSearch, monitorsSearchSchema } from '../monitors-search.ts';

/** A named search of the list, with filters, order, grouping and columns. */
export interface View {
  readonly name: string;
  readonly search: MonitorsSearch;
}

export const BUILT_IN_VIEWS: readonly View[] = [
  { name: 'All', search: {} },
  { name: 'Down', search: { status: 'DOWN' } },
  { name: 'Not acknowledged', search: { show: 'unacknowledged' } },
  {
    name: 'Certificates expiring in 30 days',
    search: { show: 'expiring', order: 'certificate', columns: 'labels,checks,certificate,checked' },
  },
  { name: 'Slowest', search: { order: 'latency', columns: 'labels,checks,latency,p95,p99,checked' } },
  { name: 'In maintenance', search: { status: 'MAINTENANCE' } },
  { name: 'Paused', search: { status: 'PAUSED' } },
  { name: 'Not checked', search: { show: 'unchecked' } },
];

const MAX_VIEWS = 100;
const MAX_NAME = 60;
const viewsSchema = z.array(z.object({ name: z.string(), search: monitorsSearchSchema })).max(MAX_VIEWS);

/** Parses the views that the browser has stored. Returns no views if the text is invalid. */
export function parseViews(text: string | undefined): readonly View[] {
  try {
    return viewsSchema.parse(JSON.parse(text ?? '[]'));
  } catch {
    return [];
  }
}

/** Explains why a name is invalid, or returns null. The name of one of the user's own views is valid and replaces that view. */
export function viewNameProblem(name: string, views: readonly View[]): string | null {
  const trimmed = name.trim();
  if (trimmed === '') return 'Enter a name.';
  if (trimmed.length > MAX_NAME) return `Use at most ${MAX_NAME} characters.`;
  if (BUILT_IN_VIEWS.some((view) => isNamed(view, trimmed))) return 'This is the name of a built-in view.';
  return findView(name, views) === undefined && views.length >= MAX_VIEWS
    ? `Delete a view first: there are ${MAX_VIEWS}.`
    : null;
}

/** Finds the view that a new view with this name would replace. */
export function findView(name: string, views: readonly View[]): View | undefined {
  return views.find((view) => isNamed(view, name.trim()));
}

/** Adds a view and sorts by name. Replaces a view with the same name. */
export function withView(views: readonly View[], { name, search }: View): readonly View[] {
  const trimmed = name.trim();
  const others = views.filter((view) => !isNamed(view, trimmed));
  return [...others, { name: trimmed, search }].sort((one, other) => one.name.localeCompare(other.name));
}

function isNamed(view: View, name: string): boolean {
  return view.name.toLowerCase() === name.toLowerCase();
}

/** True if both searches show the same list. */
export function isSameSearch(one: MonitorsSearch, other: MonitorsSearch): boolean {
  const keys = Object.keys(monitorsSearchSchema.shape) as (keyof MonitorsSearch)[];
  return keys.every((key) => one[key] === other[key]);
}
