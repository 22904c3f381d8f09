import { notifications } from '@mantine/notifications';
import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { describeError } from './request.ts';

/** @returns a function that loads queries again and resolves when those on the page have loaded */
export function useRefresh(): (...queries: { readonly queryKey: QueryKey }[]) => Promise<void> {
  const queryClient = useQueryClient();
  return async (...queries) => {
    await Promise.all(queries.map(({ queryKey }) => queryClient.invalidateQueries({ queryKey })));
  };
}

/** Shows an error that has no place on the page. */
export function showError(error: unknown): void {
  notifications.show({ color: 'red', message: describeError(error) });
}
