import { findChromium } from '../chromium.ts';
import { EmbeddedError } from '../embedded-error.ts';
import { installByApt } from './install-by-apt.ts';

/**
 * The browser tests want a real Chromium: finds one, or installs Debian's where that needs no question, or throws an
 * `EmbeddedError`. Never goes on without. @returns its path
 */
export function ensureChromium(say: (line: string) => void): string {
  const found = findChromium();
  if (found !== null) return found;
  try {
    installByApt('chromium', () => say('Installing chromium for the browser tests …'));
  } catch (error) {
    throw new EmbeddedError('The browser tests need Chromium, and apt-get could not install it', {
      cause: error,
    });
  }
  const installed = findChromium();
  if (installed !== null) return installed;
  throw new EmbeddedError(
    'The browser tests need Chromium: install it so that chromium, chromium-browser or google-chrome is on the PATH (e.g. apt-get install chromium), or set CHROMIUM_PATH to its program',
  );
}
