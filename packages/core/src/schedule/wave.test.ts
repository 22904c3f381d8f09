import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { PROPERTY_PARAMETERS } from '../testing/property-parameters.ts';
import { slotOfJob } from './slot.ts';
import { parseWaveId, waveId, waveOf, type Wave } from './wave.ts';

fc.configureGlobal(PROPERTY_PARAMETERS);

const someWave: fc.Arbitrary<Wave> = fc
  .integer({ min: 1, max: 86_400 })
  .chain((intervalSeconds) =>
    fc.integer({ min: 1, max: intervalSeconds * 1_000 - 1 }).map((phaseMs) => ({ intervalSeconds, phaseMs })),
  );

describe('the name of a wave', () => {
  test('says which it is, and its job still names its slot', () => {
    fc.assert(
      fc.property(someWave, fc.nat(4_000_000_000_000), (wave, slot) => {
        const id = waveId(wave);
        expect(parseWaveId(id)).toEqual(wave);
        expect(id).not.toContain(':');
        expect(slotOfJob(`repeat:${id}:${slot}`)).toBe(slot);
      }),
    );
  });

  test('is found for every monitor', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.integer({ min: 5, max: 86_400 }), (monitorId, intervalSeconds) => {
        const wave = waveOf(monitorId, intervalSeconds);
        expect(wave.intervalSeconds).toBe(intervalSeconds);
        expect(parseWaveId(waveId(wave))).toEqual(wave);
      }),
    );
  });

  test('no other text names a wave', () => {
    const near = fc.stringMatching(/^.?wave-[0-9.+e -]{0,9}-[0-9.+e -]{0,10}.?$/);
    fc.assert(
      fc.property(fc.oneof(fc.string(), near), (id) => {
        const wave = parseWaveId(id);
        if (wave !== null) expect(waveId(wave)).toBe(id);
      }),
    );
  });

  test.each([
    '',
    'wave',
    'wave-60',
    'wave-60-',
    'wave-0-1',
    'wave-60-0',
    'wave-60-60000',
    'wave-060-1',
    'wave-60-01',
    'wave--60-1',
    'wave-60--1',
    'wave-60-1.5',
    'wave-6e1-1',
    'wave-60-1-1',
    'wave-60-1\n',
    ' wave-60-1',
    'wave-60-1:2',
    'wave-٦٠-1',
    'wave-99999999999999999999-1',
    'wave-60-99999999999999999999',
    '__proto__',
    '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c',
  ])('%j names none', (id) => {
    expect(parseWaveId(id)).toBeNull();
  });
});
