import { UnstyledButton } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
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
  /** In a row, chips are no tab stops, and the number of further labels is shown. */
  readonly max?: number;
}

const NO_SEARCH: MonitorsSearch = {};

export function LabelChips({ labels, search = NO_SEARCH, max = Infinity }: LabelChipsProps): ReactNode {
  const navigate = useNavigate();
  const keys = Object.keys(labels).toSorted();
  const rest = keys.slice(max).map((key) => `${key}=${labels[key]}`);
  return (
    <ul className={`plain-list ${classes['chips'] ?? ''}`} aria-label="Labels">
      {keys.slice(0, max).map((key) => {
        const value = labels[key] ?? '';
        const text = `${key}=${value}`;
        const to = {
          to: '/',
          search: { ...search, selector: withLabel(search.selector ?? '', key, value) },
        } as const;
        const chip = {
          className: classes['chip'] ?? '',
          title: `Show monitors with ${text}`,
          children: text,
        };
        return (
          <li key={key}>
            {max === Infinity ? (
              <Link {...to} {...chip} />
            ) : (
              <UnstyledButton tabIndex={-1} onClick={() => void navigate(to)} {...chip} />
            )}
          </li>
        );
      })}
      {rest.length > 0 && (
        <li className={`${classes['more']} ${classes['count']}`} title={rest.join(', ')}>
          <span aria-label={`${formatCount(rest.length, 'more label')}: ${rest.join(', ')}`} role="img">
            +{rest.length}
          </span>
        </li>
      )}
    </ul>
  );
}
