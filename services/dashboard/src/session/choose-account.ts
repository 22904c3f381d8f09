import type { QueryClient } from '@tanstack/react-query';
import { redirect } from '@tanstack/react-router';
import { api, isStatus } from '../api/request.ts';
import { accountSlug, isOutsideOfAccounts, lastAccount, openAccount, withSlug } from './account-in-path.ts';
import { accountsQuery, meQuery } from './session.ts';

/**
 * Loads the signed-in user and the account of a page.
 * @param location of the page, with the address that the browser shows
 * @returns false if the user is not a member of the account in the address, or of any
 * @throws redirect for an address without its account, or ApiError
 */
export async function loadAccount(
  queryClient: QueryClient,
  location: { readonly pathname: string; readonly publicHref: string },
): Promise<boolean> {
  if (accountSlug() === null) await chooseAccount(queryClient, location);
  else void queryClient.prefetchQuery(accountsQuery);
  if (accountSlug() === null) return isOutsideOfAccounts(location.pathname);
  const me = await queryClient.ensureQueryData(meQuery).catch((error: unknown) => {
    if (isStatus(error, 404)) return null;
    throw error;
  });
  await queryClient.ensureQueryData(accountsQuery);
  return me !== null;
}

async function chooseAccount(
  queryClient: QueryClient,
  { pathname, publicHref }: { readonly pathname: string; readonly publicHref: string },
): Promise<void> {
  const { accounts, isOperator } = await queryClient.ensureQueryData(accountsQuery);
  const last = lastAccount();
  const fallback = accounts.find(({ slug }) => slug === last) ?? accounts[0];
  if (isOutsideOfAccounts(pathname)) {
    if (fallback !== undefined) openAccount(fallback.slug);
    return;
  }
  const chosen = (accounts.length > 1 && (await findAccountSlug(publicHref))) || fallback?.slug;
  if (chosen !== undefined)
    throw redirect({ href: withSlug(chosen, publicHref), reloadDocument: true, replace: true });
  if (isOperator) throw redirect({ to: '/operator/accounts', replace: true });
}

const RECORD_ID = /[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}/i;

/** Finds the slug of the account that has the record in an old link. */
async function findAccountSlug(href: string): Promise<string | undefined> {
  const record = RECORD_ID.exec(href)?.[0];
  if (record === undefined) return undefined;
  const { accounts } = await api('GET /api/dashboard/accounts', { query: { record } });
  return accounts[0]?.slug;
}
