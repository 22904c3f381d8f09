import { useEffect } from 'react';

const PRODUCT = 'Tocsin';
const shown = { page: '', account: '', prefix: '' };

function show(change: Partial<typeof shown>): void {
  Object.assign(shown, change);
  const names = [shown.page, shown.account, PRODUCT].filter((name) => name !== '');
  document.title = `${shown.prefix}${names.join(' · ')}`;
}

export function usePageTitle(page: string): void {
  useEffect(() => show({ page }), [page]);
}

/** Sets the account in the document title. Empty if there is nothing to tell apart. */
export function useAccountTitle(account: string): void {
  useEffect(() => {
    show({ account });
    return () => show({ account: '' });
  }, [account]);
}

/** Sets the prefix of the document title, such as `(3) `. */
export function useTitlePrefix(prefix: string): void {
  useEffect(() => {
    show({ prefix });
    return () => show({ prefix: '' });
  }, [prefix]);
}
