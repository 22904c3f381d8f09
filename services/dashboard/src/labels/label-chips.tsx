import { Tooltip, UnstyledButton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { ReactNode } from 'react';
import { formatCount } from '../components/format.ts';
import type { MonitorsSearch } from '../monitors/monitors-search.ts';
import { withLabel } from './selector-text.ts';
import classes from './label-chips.module.css';

interface LabelChipsProps {
  readonly labels: Labels;
  /** Filters of the list. A chip adds its label to them. */
  readonly search?: MonitorsSearch;
  /** The number of further labels is shown, and the labels on hover and focus. */
  readonly max?: number;
}

const NO_SEARCH: MonitorsSearch = {};

export function LabelChips({ labels, search = NO_SEARCH, max = Infinity }: LabelChipsProps): ReactNode {
  const keys = Object.keys(labels).toSorted();
  const more = keys.length - max;
  const rest = keys
    .slice(max)
    .map((key) => `${key}=${labels[key]}`)
    .join(', ');
  return (
    <ul className={`plain-list ${classes['chips'] ?? ''}`} aria-label="Labels">
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
      {rest.length > 0 && (
        <li className={classes['more']}>
          <Tooltip label={rest} events={{ hover: true, focus: true, touch: true }}>
            <UnstyledButton
              className={classes['count'] ?? ''}
              aria-label={`${formatCount(more, 'more label')}: ${rest}`}
            >
              +{more}
            </UnstyledButton>
          </Tooltip>
        </li>
      )}
    </ul>
  );
}
