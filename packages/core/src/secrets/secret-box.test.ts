import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { SecretBox } from './secret-box.ts';

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];

test('decrypts what it encrypted, and never produces the same ciphertext twice', () => {
  const box = new SecretBox([oldKey]);
  expect(box.decrypt(box.encrypt('sesame: ünïcode\n'))).toBe('sesame: ünïcode\n');
  expect(box.encrypt('sesame')).not.toBe(box.encrypt('sesame'));
  expect(box.encrypt('sesame')).not.toContain('sesame');
});

test('after a rotation decrypts old secrets and encrypts with the new key', () => {
  const sealed = new SecretBox([oldKey]).encrypt('sesame');
  const rotated = new SecretBox([newKey, oldKey]);
  expect(rotated.decrypt(sealed)).toBe('sesame');
  expect(new SecretBox([newKey]).decrypt(rotated.encrypt('sesame'))).toBe('sesame');
});

test('reseals secrets of older keys with the current key and keeps the others', () => {
  const rotated = new SecretBox([newKey, oldKey]);
  const resealed = rotated.reseal(new SecretBox([oldKey]).encrypt('sesame'));
  expect(new SecretBox([newKey]).decrypt(resealed)).toBe('sesame');
  expect(rotated.reseal(resealed)).toBe(resealed);
  expect(resealed.startsWith(rotated.currentPrefix)).toBe(true);
  expect(() => new SecretBox([oldKey]).reseal(resealed)).toThrow(rotated.currentKeyId);
});

test('identifies a text by its fingerprint, even after a rotation, and only with the key', () => {
  const box = new SecretBox([oldKey]);
  const fingerprint = box.fingerprint('sesame');
  expect(box.isFingerprint(fingerprint, 'sesame')).toBe(true);
  expect(box.isFingerprint(fingerprint, 'sesam')).toBe(false);
  expect(box.isFingerprint('', 'sesame')).toBe(false);
  expect(new SecretBox([newKey, oldKey]).isFingerprint(fingerprint, 'sesame')).toBe(true);
  expect(new SecretBox([newKey]).isFingerprint(fingerprint, 'sesame')).toBe(false);
  expect(new SecretBox([newKey]).fingerprint('sesame')).not.toContain(fingerprint.split('.')[1]);
});

test('key ids do not reveal the keys', () => {
  const box = new SecretBox([newKey, oldKey]);
  expect(box.keyIds).toEqual([box.currentKeyId, new SecretBox([oldKey]).currentKeyId]);
  expect(newKey.toString('hex')).not.toContain(box.currentKeyId);
});

test('rejects a changed secret, an unknown key and a key of the wrong length', () => {
  const box = new SecretBox([oldKey]);
  const sealed = box.encrypt('sesame');
  const tampered = sealed.slice(0, -4) + (sealed.endsWith('AAA=') ? 'BBB=' : 'AAA=');
  expect(() => box.decrypt(tampered)).toThrow();
  expect(() => new SecretBox([newKey]).decrypt(sealed)).toThrow('no key in SECRETS_KEY decrypts this secret');
  expect(() => new SecretBox([randomBytes(16)])).toThrow(RangeError);
  expect(() => new SecretBox([])).toThrow(RangeError);
});
