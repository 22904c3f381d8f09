import { expect, test } from '@jest/globals';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { channelChange, chosenChannels, coverageNote } from './channel-choices.ts';

const channel = (fields: Partial<Channel>): Channel =>
  ({ id: 'a', monitorIds: [], allMonitors: false, selector: null, ...fields }) as Channel;

test.each([
  [{}, null],
  [{ monitorIds: ['shop'] }, null],
  [{ allMonitors: true }, 'All monitors'],
  [{ selector: { matchLabels: { app: 'shop' } } }, 'Matches app=shop'],
  [{ selector: { matchLabels: { app: 'blog' } } }, null],
  [{ selector: {} }, 'Matches all monitors'],
])('coverageNote of %j', (fields, note) => {
  expect(coverageNote(channel(fields), { app: 'shop' })).toBe(note);
});

test.each([
  ['shop', {}, ['a']],
  ['shop', { b: true }, ['a', 'b']],
  ['shop', { a: false }, []],
  ['shop', { gone: true }, ['a']],
  [null, {}, []],
  [null, { b: true }, ['b']],
])('chosenChannels of %s with %j', (monitorId, choices, ids) => {
  const channels = [
    channel({ id: 'a', monitorIds: ['shop', 'blog'] }),
    channel({ id: 'b', monitorIds: ['blog'] }),
  ];
  expect(chosenChannels(channels, monitorId, choices)).toEqual(ids);
});

test.each([
  [[], [], null],
  [['a', 'b'], ['b', 'a'], null],
  [['a'], ['b'], { add: ['b'], remove: ['a'] }],
  [[], ['a'], { add: ['a'], remove: [] }],
])('channelChange from %j to %j', (before, chosen, change) => {
  expect(channelChange(before, chosen)).toEqual(change);
});
