import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { useApiForm } from '../../components/use-api-form.ts';
import { type MonitorFormValues, toValues } from './form-values.ts';
import { atControl, judgeWith } from './judge-values.ts';

export type MonitorForm = ReturnType<typeof useApiForm<MonitorFormValues>>;

/** @param stored the monitor to edit, as it was when the form opened; null: a new one */
export function useMonitorForm(stored: Monitor | null): MonitorForm {
  const [schema] = useState(() => judgeWith(stored));
  const [initialValues] = useState(() => toValues(stored));
  const form = useApiForm({ schema, initialValues });
  return {
    ...form,
    applyErrors: (error) =>
      form.applyErrors(error instanceof ApiError ? atControls(error, form.getValues()) : error),
  };
}

function atControls(error: ApiError, values: MonitorFormValues): ApiError {
  return new ApiError({
    status: error.status,
    title: error.title,
    detail: error.message,
    errors: error.fields.map((field) => atControl(field, values)),
  });
}
