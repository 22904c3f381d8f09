import { Stack } from '@mantine/core';
import {
  IconCalendarPause,
  IconCircleCheckFilled,
  IconClockPause,
  IconFlame,
  IconHelpHexagon,
  IconNote,
  IconSettings,
  IconSquareRoundedXFilled,
  IconUserCheck,
  IconUserMinus,
  IconWebhook,
} from '@tabler/icons-react';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type {
  Timeline as TimelineData,
  TimelineDelivery,
  TimelineEntry,
} from '@tocsin/contracts/incidents/timeline';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { ReactNode } from 'react';
import { Changes } from '../audit-log/changes.tsx';
import { describeAction, describeActor } from '../audit-log/entries.ts';
import { EVENT_LABELS } from '../channels/channel-text.ts';
import { describeCause, formatLatency } from '../components/format.ts';
import { Quiet, type StateLook, TextLink, Time, TONES } from '../components/text.tsx';
import { KeptResponse } from '../monitors/show/tail/kept-response.tsx';
import { Days } from './days.tsx';
import { describeOutcome } from './delivery-text.ts';
import classes from './incident.module.css';
import { NoteItem } from './notes.tsx';

interface TimelineProps {
  readonly incident: Incident;
  readonly timeline: TimelineData;
}

export function Timeline({ incident, timeline: { entries, complete } }: TimelineProps): ReactNode {
  return (
    <Stack gap="md">
      <Days items={entries} timeOf={({ timestamp }) => timestamp} order={3}>
        {(ofDay) => (
          <ol className="plain-list">
            {ofDay.map((entry) => (
              <Entry key={keyOf(entry)} entry={entry} incident={incident} />
            ))}
          </ol>
        )}
      </Days>
      {!complete && <Quiet size="xs">Some entries are left out, because there are too many.</Quiet>}
    </Stack>
  );
}

/** Entries of the same kind and time differ in their resource. */
function keyOf(entry: TimelineEntry): string {
  const { kind, timestamp } = entry;
  if (kind === 'delivery') return `${kind} ${timestamp} ${entry.delivery.id}`;
  if (kind === 'maintenance') return `${kind} ${timestamp} ${entry.maintenance.windowId}`;
  return kind === 'note' ? `${kind} ${timestamp} ${entry.note.id}` : `${kind} ${timestamp}`;
}

type Look = Pick<StateLook, 'icon' | 'tone'>;

const LOOKS: Readonly<Record<Exclude<TimelineEntry['kind'], 'check'>, Look>> = {
  configuration: { icon: IconSettings, tone: 'quiet' },
  maintenance: { icon: IconCalendarPause, tone: 'maintenance' },
  opened: { icon: IconFlame, tone: 'bad' },
  'status-change': { icon: IconClockPause, tone: 'maintenance' },
  resolved: { icon: IconCircleCheckFilled, tone: 'good' },
  delivery: { icon: IconWebhook, tone: 'quiet' },
  acknowledged: { icon: IconUserCheck, tone: 'quiet' },
  'acknowledgement-removed': { icon: IconUserMinus, tone: 'quiet' },
  note: { icon: IconNote, tone: 'quiet' },
};

function lookOf(entry: TimelineEntry): Look {
  if (entry.kind === 'delivery' && entry.delivery.state === 'failed')
    return { icon: IconWebhook, tone: 'bad' };
  if (entry.kind !== 'check') return LOOKS[entry.kind];
  if (entry.check.inconclusive) return { icon: IconHelpHexagon, tone: 'quiet' };
  return entry.check.status === 'UP'
    ? { icon: IconCircleCheckFilled, tone: 'good' }
    : { icon: IconSquareRoundedXFilled, tone: 'bad' };
}

interface EntryProps {
  readonly entry: TimelineEntry;
  readonly incident: Incident;
}

function Entry({ entry, incident }: EntryProps): ReactNode {
  const { icon: Icon, tone } = lookOf(entry);
  return (
    <li className={classes['entry']} data-kind={entry.kind}>
      <span className={classes['icon']} style={{ color: TONES[tone] }}>
        <Icon size={18} aria-hidden />
      </span>
      <Quiet>
        <Time value={entry.timestamp} as="time" />
      </Quiet>
      <div className={classes['what']}>
        <What entry={entry} incident={incident} />
      </div>
    </li>
  );
}

function What({ entry, incident }: EntryProps): ReactNode {
  switch (entry.kind) {
    case 'check':
      return <Check check={entry.check} />;
    case 'opened':
      return <b>Incident opened</b>;
    case 'resolved':
      return <b>Incident resolved</b>;
    case 'status-change':
      return entry.statusChange.status === 'MAINTENANCE'
        ? 'Alerts paused for maintenance'
        : 'Maintenance over, still down';
    case 'delivery':
      return <Delivery delivery={entry.delivery} />;
    case 'maintenance':
      return (
        <>
          Maintenance{' '}
          <TextLink to="/maintenance/$windowId" params={{ windowId: entry.maintenance.windowId }}>
            {entry.maintenance.name}
          </TextLink>
          <Quiet inline>
            {' '}
            until <Time value={entry.maintenance.endsAt} as="clock" />
          </Quiet>
        </>
      );
    case 'configuration':
      return (
        <>
          {describeAction(entry.change.action)}
          <Quiet inline> by {describeActor(entry.change.actor)}</Quiet>
          {entry.change.action !== 'monitor.created' && <Changes changes={entry.change.changes} />}
        </>
      );
    case 'acknowledged':
      return (
        <>
          Acknowledged by <b>{entry.by.name}</b>
        </>
      );
    case 'acknowledgement-removed':
      return (
        <>
          Acknowledgement removed by <b>{entry.by.name}</b>
        </>
      );
    case 'note':
      return (
        <>
          <b>{entry.note.author.name}</b>
          <Quiet inline> wrote{entry.note.editedAt !== null && ' (edited)'}</Quiet>
          <NoteItem incidentId={incident.id} note={entry.note} />
        </>
      );
  }
}

function Check({ check }: { readonly check: Event }): ReactNode {
  const { status, inconclusive, region, errorReason, errorDetail, statusCode, latency, hasResponse } = check;
  return (
    <>
      Check {inconclusive ? 'inconclusive' : status === 'UP' ? 'passed' : 'failed'} in {region}
      {errorReason !== null && `: ${describeCause(errorReason, errorDetail)}`}
      {errorReason === null && (
        <Quiet inline>
          {statusCode !== null && ` HTTP ${statusCode},`} {formatLatency(latency)}
        </Quiet>
      )}
      {hasResponse && <KeptResponse event={check} />}
    </>
  );
}

function Delivery({ delivery }: { readonly delivery: TimelineDelivery }): ReactNode {
  const { event, channel } = delivery;
  return (
    <>
      Alert “{EVENT_LABELS[event]}” to{' '}
      <TextLink to="/channels/$channelId" params={{ channelId: channel.id }}>
        {channel.name}
      </TextLink>
      : {describeOutcome(delivery)}
    </>
  );
}
