import { Kbd, Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { DataTable } from '../components/data-table.tsx';
import { IS_APPLE } from '../components/shortcuts.ts';

const KEYS = {
  '/': 'Search the list of monitors',
  [IS_APPLE ? '⌘ K' : 'Ctrl K']: 'Find a monitor, a page or an action of this page',
  'J, ↓': 'Next row of a list',
  'K, ↑': 'Previous row of a list',
  Enter: 'Open the row',
  'Shift click': 'Select all monitors from the last one to this one',
  '?': 'Show these shortcuts',
};

export function KeyList({ onClose }: { readonly onClose: () => void }): ReactNode {
  return (
    <Modal opened onClose={onClose} title="Keyboard shortcuts">
      <DataTable
        label="Keyboard shortcuts"
        rows={Object.entries(KEYS)}
        rowKey={([keys]) => keys}
        columns={{
          Keys: ([keys]) => <Kbd style={{ whiteSpace: 'nowrap' }}>{keys}</Kbd>,
          Action: ([, action]) => action,
        }}
      />
    </Modal>
  );
}
