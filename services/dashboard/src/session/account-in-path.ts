import { isReservedSlug } from '@tocsin/contracts/accounts/account';
import type { LocationRewrite } from '@tanstack/react-router';

/** Pages that belong to no account. */
const OUTSIDE: ReadonlySet<string> = new Set(['sign-in', 'setup', 'invitation', 'profile', 'operator']);

/** Key in the storages of the browser. */
const LAST_ACCOUNT = 'tocsin.account';

let openSlug: string | null = null;
let openId: string | null = null;

/**
 * The slug of the open account, or null. It never changes to another one, because an account has its own page load. Caches, live streams and
 * forms of two accounts therefore never mix.
 */
export function accountSlug(): string | null {
  return openSlug;
}

/** Makes requests name the open account by its id, because another account may get its slug while a page is open. */
export function bindAccount(id: string): void {
  if (openSlug !== null) openId = id;
}

/** Returns the id or slug that requests send for the open account, or null. */
export function accountOfRequests(): string | null {
  return openId ?? openSlug;
}

/** Opens an account for the rest of this page load, and remembers it for paths without one. */
export function openAccount(slug: string): void {
  openSlug = slug;
  sessionStorage.setItem(LAST_ACCOUNT, slug);
  localStorage.setItem(LAST_ACCOUNT, slug);
}

/** Returns the account that was last opened in this tab, or else in this browser. Null before the first. */
export function lastAccount(): string | null {
  return sessionStorage.getItem(LAST_ACCOUNT) ?? localStorage.getItem(LAST_ACCOUNT);
}

function firstPart(path: string): string {
  return path.split('/', 2)[1] ?? '';
}

/** Returns the slug in the path of a document, or null. Slugs are lower-case, but people may type capitals. */
export function slugInPath(path: string): string | null {
  const part = firstPart(path).toLowerCase();
  return part === '' || isReservedSlug(part) ? null : part;
}

export function isOutsideOfAccounts(path: string): boolean {
  return OUTSIDE.has(firstPart(path));
}

/** @param path of a page, such as `/` or `/monitors?q=shop` */
export function withSlug(slug: string, path: string): string {
  return `/${slug}${path.replace(/^\/(?=$|[?#])/, '')}`;
}

/** Keeps the slug in the address. Routes and links have paths without it. */
export const accountInPath: LocationRewrite = {
  input: ({ url }) => {
    if (openSlug !== null && slugInPath(url.pathname) === openSlug)
      url.pathname = url.pathname.slice(openSlug.length + 1);
    return url;
  },
  output: ({ url }) => {
    if (openSlug !== null && !isOutsideOfAccounts(url.pathname))
      url.pathname = withSlug(openSlug, url.pathname);
    return url;
  },
};
