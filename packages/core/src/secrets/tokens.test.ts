import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { AGENT_TOKEN_PATTERN, API_KEY_PATTERN } from '@tocsin/contracts/limits';
import { generateAgentToken, generateApiKey, generateInvitationToken, hashToken } from './tokens.ts';

test.each([
  ['an API key', generateApiKey, /^tocsin_live_[0-9a-f]{48}$/, API_KEY_PATTERN],
  ['an agent token', generateAgentToken, /^tocsin_agent_[0-9a-f]{48}$/, AGENT_TOKEN_PATTERN],
])('%s is the prefix and 48 hexadecimal characters', (_, generate, form, pattern) => {
  const secret = generate();
  expect(secret).toMatch(form);
  expect(secret).toMatch(pattern);
  expect(generate()).not.toBe(secret);
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
