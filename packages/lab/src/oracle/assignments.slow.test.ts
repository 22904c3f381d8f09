import { expect, test } from '@jest/globals';
import type { ChannelScope } from '../load/world-plan.ts';
import { at, CHANNEL, MONITOR } from '../testing/campaign-record.ts';
import { mustReceive } from './assignments.ts';
import type { ChannelFacts, Edit, MonitorFacts } from './record.ts';

const SHOP: ChannelScope = { selector: { matchLabels: { app: 'shop' } }, events: null };
const BLOG: ChannelScope = { selector: { matchLabels: { app: 'blog' } }, events: ['monitor.down'] };

function edit<Value>(second: number, value: Value): Edit<Value> {
  return { from: at(second), until: at(second + 0.5), value };
}

function channelOf(scope: ChannelScope, ...rescoped: Edit<ChannelScope>[]): ChannelFacts {
  return { ...CHANNEL, plan: { ...CHANNEL.plan, monitors: [], scope }, rescoped };
}

/** Relabeled at 10 s. */
const RELABELED: MonitorFacts = { ...MONITOR, relabeled: [edit(10, { app: 'blog' })] };

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
  expect(mustReceive(channel, RELABELED, 'monitor.down', at(second))).toBe(expected);
});
