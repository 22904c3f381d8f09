import { expect, test } from '@jest/globals';
import { mergeClaims, readGroups } from './claims.ts';

test.each<[unknown, readonly string[]]>([
  [undefined, []],
  [null, []],
  ['', []],
  [[], []],
  ['shop', ['shop']],
  [
    ['shop', 'bank'],
    ['shop', 'bank'],
  ],
  [['shop', { name: 'bank' }, 7, null], ['shop']],
  [{ shop: true }, []],
])('the claim %j has the groups %j', (groups, expected) => {
  expect(readGroups({ groups }, 'groups')).toEqual(expected);
});

test.each<[Record<string, unknown>, readonly string[] | null]>([
  [{ _claim_names: { groups: 'src1' } }, null],
  [{ hasgroups: 'true' }, null],
  [{ _claim_names: { groups: 'src1' }, groups: ['shop'] }, ['shop']],
  [{ _claim_names: { roles: 'src1' } }, []],
])('with %j, the groups are %j', (claims, expected) => {
  expect(readGroups(claims, 'groups')).toEqual(expected);
});

test('absent claims of the ID token do not hide those of the userinfo endpoint', () => {
  const fromToken = { email: null, groups: null, name: '', sub: 'token', email_verified: false };
  const userinfo = {
    email: 'a@example.com',
    groups: ['shop'],
    name: 'Ada',
    sub: 'userinfo',
    email_verified: true,
  };
  expect(mergeClaims(fromToken, userinfo)).toEqual({ ...userinfo, sub: 'token', email_verified: false });
});
