import { expect, test } from '@jest/globals';
import type { Labels } from '@tocsin/contracts/labels/labels';
import type { Selector } from '@tocsin/contracts/labels/selector';
import type { ChannelScope } from '../plan/world.ts';
import { at, CHANNEL, MONITOR } from '../testing/campaign-record.ts';
import { mustReceive } from './assignments.ts';
import type { ChannelFacts, Edit, MonitorFacts } from './record.ts';

type Operator = NonNullable<Selector['matchExpressions']>[number]['operator'];

const SHOP: ChannelScope = { selector: { matchLabels: { app: 'shop' } }, events: null };
const BLOG: ChannelScope = { selector: { matchLabels: { app: 'blog' } }, events: ['monitor.down'] };

function edit<Value>(second: number, value: Value): Edit<Value> {
  return { from: at(second), until: at(second + 0.5), value };
}

function channelOf(scope: ChannelScope, ...rescoped: Edit<ChannelScope>[]): ChannelFacts {
  return { ...CHANNEL, plan: { ...CHANNEL.plan, monitors: [], scope }, rescoped };
}

function monitorOf(labels: Labels, ...relabeled: Edit<Labels>[]): MonitorFacts {
  return { ...MONITOR, plan: { ...MONITOR.plan, labels }, relabeled };
}

test.each<[string, ChannelFacts, number, boolean | null]>([
  ['of a matching monitor', channelOf(SHOP), 5, true],
  ['while the monitor is relabeled', channelOf(SHOP), 10.3, null],
  ['after the monitor was relabeled', channelOf(SHOP), 11, false],
  ['that the filter excludes', channelOf({ ...SHOP, events: ['monitor.up'] }), 5, false],
  ['before the selector changed', channelOf(SHOP, edit(60, BLOG)), 5, true],
  ['shortly before the selector changed', channelOf(SHOP, edit(16, BLOG)), 5, null],
  ['after the selector changed', channelOf(SHOP, edit(-60, BLOG)), 11, true],
  ['of a listed monitor', { ...CHANNEL, plan: { ...CHANNEL.plan, monitors: ['shop'] } }, 5, true],
])('a channel must receive an event %s', (_name, channel, second, expected) => {
  const monitor = monitorOf({ app: 'shop' }, edit(10, { app: 'blog' }));
  expect(mustReceive(channel, monitor, 'monitor.down', at(second))).toBe(expected);
});

test.each<[Operator, readonly (boolean | null)[]]>([
  ['In', [true, false, false]],
  ['NotIn', [false, true, true]],
  ['Exists', [true, true, false]],
  ['DoesNotExist', [false, false, true]],
])('%s selects labels with the value, with another one, and without the key: %j', (operator, expected) => {
  const values = operator.endsWith('In') ? { values: ['web'] } : {};
  const selector = { matchExpressions: [{ key: 'tier', operator, ...values }] };
  const selects = (labels: Labels): boolean | null =>
    mustReceive(channelOf({ selector, events: null }), monitorOf(labels), 'monitor.down', at(0));
  expect([selects({ tier: 'web' }), selects({ tier: '' }), selects({})]).toEqual(expected);
});
