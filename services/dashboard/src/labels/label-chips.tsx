import { Link } from '@tanstack/react-router';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { ReactNode } from 'react';
import type { MonitorsSearch } from '../monitors/monitors-search.ts';
import { withLabel } from './selector-text.ts';
import classes from './label-chips.module.css';

interface LabelChipsProps {
  readonly labels: Labels;
  /** The filters of the list, to which a chip adds its label. */
  readonly search?: MonitorsSearch;
  /** The others are counted. */
  readonly max?: number;
}

const NO_SEARCH: MonitorsSearch = {};

/** Labels as links to the monitors that have them. */
export function LabelChips({ labels, search = NO_SEARCH, max = Infinity }: LabelChipsProps): ReactNode {
  const keys = Object.keys(labels).toSorted();
  return (
    <ul className={classes['chips']} aria-label="Labels">
      {keys.slice(0, max).map((key) => {
        const value = labels[key] ?? '';
        const text = `${key}=${value}`;
        return (
          <li key={key}>
            <Link
              to="/"
              search={{ ...search, selector: withLabel(search.selector ?? '', key, value) }}
              className={classes['chip']}
              title={`Show monitors with ${text}`}
            >
              {text}
            </Link>
          </li>
        );
      })}
      {keys.length > max && (
        <li
          className={classes['more']}
          title={keys
            .slice(max)
            .map((key) => `${key}=${labels[key]}`)
            .join(', ')}
        >
          +{keys.length - max}
        </li>
      )}
    </ul>
  );
}
