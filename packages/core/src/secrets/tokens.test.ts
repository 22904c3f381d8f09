import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { API_KEY_PATTERN } from '@tocsin/contracts/limits';
import { generateApiKey, generateInvitationToken, hashToken } from './tokens.ts';

test('an API key is the prefix and 48 hexadecimal characters', () => {
  const key = generateApiKey();
  expect(key).toMatch(/^tocsin_live_[0-9a-f]{48}$/);
  expect(key).toMatch(API_KEY_PATTERN);
  expect(generateApiKey()).not.toBe(key);
});

test.each([
  '',
  'tocsin_live_',
  `tocsin_live_${'g'.repeat(48)}`,
  `tocsin_live_${'a'.repeat(47)}`,
  `x${generateApiKey()}`,
])('%j is not an API key', (text) => {
  expect(text).not.toMatch(API_KEY_PATTERN);
});

test('an invitation token is 32 random bytes in base64url', () => {
  expect(generateInvitationToken()).toMatch(/^[\w-]{43}$/);
  expect(generateInvitationToken()).not.toBe(generateInvitationToken());
});

test('the hash is the SHA-256 of the whole token', () => {
  const key = generateApiKey();
  expect(hashToken(key)).toBe(createHash('sha256').update(key).digest('hex'));
});
