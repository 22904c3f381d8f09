import { useEffect } from 'react';

const PRODUCT = 'Tocsin';
const shown = { page: '', prefix: '' };

function show(change: Partial<typeof shown>): void {
  Object.assign(shown, change);
  const name = shown.page === '' ? PRODUCT : `${shown.page} · ${PRODUCT}`;
  document.title = `${shown.prefix}${name}`;
}

export function usePageTitle(page: string): void {
  useEffect(() => show({ page }), [page]);
}

/** Sets the prefix of the document title, such as `(3) `. */
export function useTitlePrefix(prefix: string): void {
  useEffect(() => {
    show({ prefix });
    return () => show({ prefix: '' });
  }, [prefix]);
}
