import { ActionIcon, Button, Kbd } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { type ComponentProps, type ComponentType, lazy, type ReactNode, Suspense, useState } from 'react';
import { flushSync } from 'react-dom';
import { showError } from '../api/mutations.ts';
import { IS_APPLE, isCommandK, isQuestionMark, useShortcut } from '../components/shortcuts.ts';
import type { Palette } from './palette.tsx';

const KeyList = lazy(async () => ({ default: (await import('./key-list.tsx')).KeyList }));

type PaletteProps = ComponentProps<typeof Palette>;

/** Opens the palette, which is loaded on first use. */
export function PaletteButton(props: PaletteProps): ReactNode {
  const [loaded, setLoaded] = useState<{ readonly show: ComponentType<PaletteProps> } | null>(null);
  const load = async (): Promise<void> => {
    const { Palette: show, openPalette } = await import('./palette.tsx');
    // The palette returns the focus only if it is mounted before it opens.
    flushSync(() => setLoaded({ show }));
    openPalette();
  };
  const open = (): void => void load().catch(showError);
  useShortcut(isCommandK, open);
  const [areKeysOpen, setKeysOpen] = useState(false);
  useShortcut(isQuestionMark, () => setKeysOpen(true));
  const keys = IS_APPLE ? 'Meta+K' : 'Control+K';
  return (
    <>
      <Button
        variant="default"
        size="xs"
        visibleFrom="sm"
        leftSection={<IconSearch size={14} aria-hidden />}
        rightSection={
          <Kbd size="xs" aria-hidden>
            {IS_APPLE ? '⌘K' : 'Ctrl K'}
          </Kbd>
        }
        aria-haspopup="dialog"
        aria-keyshortcuts={keys}
        onClick={open}
      >
        Search
      </Button>
      <ActionIcon variant="subtle" size="lg" color="gray" hiddenFrom="sm" aria-label="Search" onClick={open}>
        <IconSearch size={20} stroke={1.5} aria-hidden />
      </ActionIcon>
      {loaded !== null && <loaded.show {...props} />}
      <Suspense>{areKeysOpen && <KeyList onClose={() => setKeysOpen(false)} />}</Suspense>
    </>
  );
}
