import {
  Button,
  Group,
  NativeSelect,
  NumberInput,
  Switch,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { BODY_ASSERTIONS } from '@tocsin/contracts/monitors/assertions';
import { HTTP_METHODS, METHODS_WITH_BODY } from '@tocsin/contracts/vocabulary';
import type { ReactNode } from 'react';
import { HeaderList } from '../../components/header-list.tsx';
import { Quiet } from '../../components/text.tsx';
import { labelDefaultRegion, regionsQuery } from '../../regions/regions.ts';
import { useDefaultRegion } from '../../session/session.ts';
import { type Field, type FieldPath, FIELDS } from '../fields/fields.tsx';
import { Conditions } from './conditions.tsx';
import classes from './controls.module.css';
import { type MonitorForm, retryNote } from './form-values.ts';

interface ControlProps {
  readonly form: MonitorForm;
  readonly field: Field;
  /** Label, help and form properties. */
  readonly input: ReturnType<MonitorForm['getInputProps']> & {
    readonly label: string;
    readonly description: string | undefined;
  };
}

export function FieldControl({ form, path }: { form: MonitorForm; path: FieldPath }): ReactNode {
  const field = FIELDS[path];
  const { label, unit, help, required, placeholder, control, wide } = field;
  const Control = CONTROLS[control];
  const input = {
    label: unit === undefined ? label : `${label} (${unit})`,
    description: help,
    required,
    placeholder,
    ...form.getInputProps(path),
  };
  return (
    <div className={wide === true ? classes['wide'] : undefined}>
      <Control form={form} field={field} input={input} />
    </div>
  );
}

const CONTROLS: Readonly<Record<Field['control'], (props: ControlProps) => ReactNode>> = {
  text: ({ input }) => <TextInput autoComplete="off" {...input} />,
  url: ({ input }) => <TextInput type="url" inputMode="url" autoComplete="off" {...input} />,
  textarea: ({ input }) => <Textarea autosize maxRows={6} spellCheck={false} {...input} />,
  readOnly: ({ input: { label, description } }) => (
    <TextInput label={label} description={description} value="HTTP" readOnly />
  ),
  number: WholeNumber,
  interval: Interval,
  retryInterval: RetryInterval,
  method: Method,
  headers: ({ form, input: { label, error } }) => <HeaderList form={form} label={label} error={error} />,
  switch: Toggle,
  ipFamily: ({ input }) => <NativeSelect data={IP_FAMILIES} {...input} />,
  pem: Pem,
  pemKey: (props) => <Pem {...props} isSecret />,
  body: Body,
  regions: Regions,
  statusCodes: ({ form, field, input }) => (
    <TagsInput
      splitChars={[',', ' ']}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear the status codes' }}
      {...input}
      placeholder={form.values.assertions.statusCodes.length === 0 ? field.placeholder : ''}
    />
  ),
  headerConditions: ({ form, input: { label, description, error } }) => (
    <Conditions form={form} kind="headers" label={label} description={description} error={error} />
  ),
  jsonConditions: ({ form, input: { label, description, error } }) => (
    <Conditions form={form} kind="json" label={label} description={description} error={error} />
  ),
  labels: ({ form, input }) => (
    <TagsInput
      splitChars={[',', ' ']}
      clearable
      clearButtonProps={{ 'aria-label': 'Clear the labels' }}
      {...input}
      placeholder={form.values.labels.length === 0 ? 'app=shop, team=checkout' : ''}
    />
  ),
};

const IP_FAMILIES = [
  { value: '', label: 'Any' },
  { value: '4', label: 'IPv4' },
  { value: '6', label: 'IPv6' },
];

function Toggle({ input: { value, label, description, error, onChange } }: ControlProps): ReactNode {
  return <Switch {...{ label, description, error, onChange }} checked={value === true} />;
}

/** Certificates and keys. The text of a key is hidden. */
function Pem({ input, isSecret = false }: ControlProps & { readonly isSecret?: boolean }): ReactNode {
  const hidden = isSecret ? { WebkitTextSecurity: 'disc' } : {};
  return (
    <Textarea
      autosize
      maxRows={6}
      spellCheck={false}
      autoComplete="off"
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', ...hidden } }}
      {...input}
    />
  );
}

/** Keeps numbers that are out of range, and the error states the limits. */
function WholeNumber({ field: { limits }, input }: ControlProps): ReactNode {
  return <NumberInput clampBehavior="none" allowDecimal={false} {...limits} {...input} />;
}

const INTERVALS = [
  { seconds: 30, label: '30 s' },
  { seconds: 60, label: '1 min' },
  { seconds: 300, label: '5 min' },
  { seconds: 900, label: '15 min' },
  { seconds: 3_600, label: '1 h' },
] as const;

function Interval(props: ControlProps): ReactNode {
  const { form } = props;
  return (
    <>
      <WholeNumber {...props} />
      <Group gap={6} mt={6} role="group" aria-label="Common intervals">
        {INTERVALS.map(({ seconds, label }) => {
          const isSelected = form.values.interval === seconds;
          return (
            <Button
              key={seconds}
              size="compact-sm"
              variant={isSelected ? 'filled' : 'default'}
              aria-pressed={isSelected}
              onClick={() => form.setFieldValue('interval', seconds)}
            >
              {label}
            </Button>
          );
        })}
      </Group>
    </>
  );
}

function RetryInterval(props: ControlProps): ReactNode {
  const note = retryNote(props.form.values);
  return (
    <>
      <WholeNumber {...props} />
      <Text size="xs" c="var(--text-quiet)" mt={4} role="status">
        {note}
      </Text>
    </>
  );
}

function Method({ form, input }: ControlProps): ReactNode {
  return (
    <NativeSelect
      data={[...HTTP_METHODS]}
      {...input}
      onChange={({ currentTarget }) => {
        const method = HTTP_METHODS.find((one) => one === currentTarget.value);
        if (method === undefined) return;
        form.setFieldValue('method', method);
        // HEAD allows no assertions about the body.
        for (const key of BODY_ASSERTIONS) form.validateField(`assertions.${key}`);
      }}
    />
  );
}

function Body({ form, input }: ControlProps): ReactNode {
  if (!METHODS_WITH_BODY.has(form.values.method)) return null;
  return (
    <Textarea
      autosize
      minRows={3}
      maxRows={14}
      spellCheck={false}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      {...input}
    />
  );
}

/** Suggests known regions. Other codes are allowed, because their checkers may start later. */
function Regions({ form, input }: ControlProps): ReactNode {
  const { data: known = [], isSuccess } = useQuery({ ...regionsQuery, refetchInterval: false });
  const defaultRegion = useDefaultRegion();
  const served = new Set(known.filter((region) => region.served !== false).map(({ region }) => region));
  const unserved = isSuccess ? form.values.regions.filter((region) => !served.has(region)) : [];
  return (
    <>
      <TagsInput
        data={known.map(({ region }) => region)}
        renderOption={({ option: { value } }) => (
          <Group gap="xs">
            {value}
            <Quiet inline>{known.find(({ region }) => region === value)?.name}</Quiet>
          </Group>
        )}
        splitChars={[',', ' ']}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the regions' }}
        {...input}
        description={`Each region checks independently. If empty: ${labelDefaultRegion(defaultRegion)}.`}
        placeholder={form.values.regions.length === 0 ? 'eu-west, us-east' : ''}
      />
      {unserved.length > 0 && (
        <Group gap={6} mt={6} wrap="nowrap" role="status">
          <IconAlertTriangle size={16} aria-hidden />
          <Text size="xs">
            No checker or agent is running in {unserved.join(', ')}. Checks start when one does.
          </Text>
        </Group>
      )}
    </>
  );
}
