import { randomInt } from 'node:crypto';
import type { Caller } from '../requests/plan.ts';
import type { Account } from '../world/account.ts';
import { PUBLIC_URL } from '../world/system.ts';

/** What a caller sends with a request to a path. */
export function callerHeaders(
  account: Account,
  caller: Caller,
  path: string,
  method: string,
): Record<string, string> {
  const isCli = path.startsWith('/api/cli');
  const mayEndSession = path.startsWith('/api/auth') && method !== 'GET';
  const headers: Record<string, string> = {
    // Tries at signing in are counted by address.
    'X-Forwarded-For': `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`,
    ...(isCli ? byKey(account, caller) : byCookie(account, mayEndSession ? 'stale' : caller)),
  };
  if (!isCli && method !== 'GET') headers['Origin'] = PUBLIC_URL;
  return headers;
}

function byKey(account: Account, caller: Caller): Record<string, string> {
  switch (caller) {
    case 'full':
      return bearer(account.key);
    case 'lesser':
      return bearer(account.readKey);
    case 'stale':
      return bearer(account.deletedKey);
    case 'garbage':
      return bearer('tocsin_live_nonsense');
    case 'other kind':
      return { Cookie: account.owner.cookie };
    case 'nobody':
      return {};
  }
}

function bearer(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}` };
}

function byCookie(account: Account, caller: Caller): Record<string, string> {
  switch (caller) {
    case 'full':
      return { Cookie: account.owner.cookie };
    case 'lesser':
      return { Cookie: account.member.cookie };
    case 'stale':
      return { Cookie: account.staleCookie };
    case 'garbage':
      return { Cookie: account.owner.cookie.replace(/\.[^.]*$/, '.bm9uc2Vuc2U%3D') };
    case 'other kind':
      return { Authorization: `Bearer ${account.key}` };
    case 'nobody':
      return {};
  }
}
