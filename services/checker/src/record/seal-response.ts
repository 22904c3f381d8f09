import type { SecretBox } from '@tocsin/core/secrets/secret-box';
import type { CheckRecord, SealResponse } from '@tocsin/db/checks/check-record';

/** A region that alternates between failing and passing keeps one response in this time. A response takes ten times the space of an event. */
const KEEP_EVERY_MS = 60_000;

/** Creates the encryption of first failed responses. A check that is recorded again gets the same response. */
export function createResponseSealer(
  secrets: Pick<SecretBox, 'encrypt'>,
  now: () => number = () => performance.now(),
): SealResponse {
  const sealed = new WeakMap<CheckRecord, string>();
  /** Time of the last kept response by monitor and region, oldest first. */
  const keptAt = new Map<string, number>();
  return (check) => {
    const known = sealed.get(check);
    if (known !== undefined || check.response === null) return known ?? null;
    for (const [key, at] of keptAt) {
      if (now() - at < KEEP_EVERY_MS) break;
      keptAt.delete(key);
    }
    const key = `${check.monitorId} ${check.region}`;
    if (keptAt.has(key)) return null;
    keptAt.set(key, now());
    const text = secrets.encrypt(JSON.stringify(check.response()));
    sealed.set(check, text);
    return text;
  };
}
