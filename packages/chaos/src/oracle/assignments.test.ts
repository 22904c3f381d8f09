import { describe, expect, test } from '@jest/globals';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { ChannelScope } from '../plan/world.ts';
import { CHANNEL, detailsOf, goodRecord, MONITOR, START, withDatabase } from '../testing/campaign-record.ts';
import { mustReceive } from './assignments.ts';
import type { CampaignRecord, ChannelFacts, Edit, MonitorFacts } from './record.ts';

const SHOP: ChannelScope = { selector: { matchLabels: { app: 'shop' } }, events: null };
const BLOG: ChannelScope = { selector: { matchLabels: { app: 'blog' } }, events: ['monitor.down'] };

function channelOf(scope: ChannelScope, ...rescoped: Edit<ChannelScope>[]): ChannelFacts {
  return { ...CHANNEL, plan: { ...CHANNEL.plan, monitors: [], scope }, rescoped };
}

function monitorOf(labels: Labels, ...relabeled: Edit<Labels>[]): MonitorFacts {
  return { ...MONITOR, plan: { ...MONITOR.plan, labels }, relabeled };
}

function edit<Value>(seconds: number, value: Value): Edit<Value> {
  return { from: START + seconds * 1_000, until: START + seconds * 1_000 + 500, value };
}

describe('an event', () => {
  const shop = monitorOf({ app: 'shop' }, edit(10, { app: 'blog' }));

  test.each<[string, ChannelFacts, MonitorFacts, number, boolean | null]>([
    ['of a matching monitor', channelOf(SHOP), shop, 5, true],
    ['while the monitor is relabeled', channelOf(SHOP), shop, 10.3, null],
    ['after the monitor was relabeled', channelOf(SHOP), shop, 11, false],
    ['that the filter excludes', channelOf({ ...SHOP, events: ['monitor.up'] }), shop, 5, false],
    ['before the selector changed', channelOf(SHOP, edit(60, BLOG)), shop, 5, true],
    ['shortly before the selector changed', channelOf(SHOP, edit(16, BLOG)), shop, 5, null],
    ['after the selector changed', channelOf(SHOP, edit(-60, BLOG)), shop, 11, true],
    ['of a listed monitor', { ...CHANNEL, plan: { ...CHANNEL.plan, monitors: ['shop'] } }, shop, 5, true],
  ])('%s', (_name, channel, monitor, second, expected) => {
    expect(mustReceive(channel, monitor, 'monitor.down', START + second * 1_000)).toBe(expected);
  });

  test.each<[string, Labels, boolean]>([
    ['NotIn without the label', {}, true],
    ['NotIn with another value', { tier: '' }, true],
    ['NotIn with the value', { tier: 'web' }, false],
  ])('%s', (_name, labels, expected) => {
    const matchExpressions = [{ key: 'tier', operator: 'NotIn' as const, values: ['web'] }];
    const channel = channelOf({ selector: { matchExpressions }, events: null });
    expect(mustReceive(channel, monitorOf(labels), 'monitor.down', START)).toBe(expected);
  });
});

describe('findViolations finds', () => {
  const good = goodRecord();
  const { monitors } = good.database;

  test.each<[string, CampaignRecord, string, RegExp]>([
    [
      'a delivery to a channel that does not match',
      { ...good, channels: [{ ...channelOf(BLOG), id: CHANNEL.id }] },
      'each delivery belongs to its channel',
      /^monitor.down of shop to steady .* goes to a channel that its monitor is not assigned to$/,
    ],
    [
      'a channel that its monitor matches, and that received nothing',
      {
        ...withDatabase({ deliveries: [] }),
        channels: [{ ...channelOf(SHOP), id: CHANNEL.id }],
      },
      'each webhook event goes to each channel',
      /has no delivery of monitor.down to steady$/,
    ],
    [
      'labels that were lost',
      { ...good, monitors: [monitorOf({ app: 'shop' }, edit(1, { app: 'blog' }))] },
      'each confirmed label and selector is stored',
      /^shop has \{"app":"shop"\} instead of \{"app":"blog"\}$/,
    ],
    [
      'a selector that was lost',
      { ...good, channels: [{ ...CHANNEL, rescoped: [edit(1, SHOP)] }] },
      'each confirmed label and selector is stored',
      /^steady has null instead of/,
    ],
    [
      'a match that is missing',
      withDatabase({ channels: [{ id: CHANNEL.id, selector: SHOP.selector, matchedIds: [] }] }),
      'each selector has the monitors that it matches',
      /does not have Shop, which its selector matches$/,
    ],
    [
      'a match that is left',
      withDatabase({
        channels: [{ id: CHANNEL.id, selector: BLOG.selector, matchedIds: monitors.map(({ id }) => id) }],
      }),
      'each selector has the monitors that it matches',
      /has Shop, which its selector does not match$/,
    ],
  ])('%s', (_name, record, invariant, expected) => {
    expect(detailsOf(record, invariant)).toContainEqual(expect.stringMatching(expected));
  });
});
