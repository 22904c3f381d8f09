import { Button } from '@mantine/core';
import { IconEye, IconEyeOff } from '@tabler/icons-react';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { type ReactNode, useState } from 'react';
import classes from './configuration.module.css';

/** Custom headers; their values, which may be secrets, only where somebody asks for them. */
export function HeaderList({ headers }: { readonly headers: Monitor['headers'] }): ReactNode {
  const [revealed, setRevealed] = useState(false);
  const entries = Object.entries(headers ?? {});
  if (entries.length === 0) return 'None';
  const Eye = revealed ? IconEyeOff : IconEye;
  return (
    <>
      <ul className={classes['rules']}>
        {entries.map(([name, value]) => (
          <li key={name}>
            <code>
              {name}: {revealed ? value : '••••••••'}
            </code>
          </li>
        ))}
      </ul>
      <Button
        variant="subtle"
        color="gray"
        size="compact-xs"
        leftSection={<Eye size={14} aria-hidden />}
        onClick={() => setRevealed(!revealed)}
      >
        {revealed ? 'Hide values' : 'Show values'}
      </Button>
    </>
  );
}
