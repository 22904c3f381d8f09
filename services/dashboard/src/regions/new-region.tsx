import { Modal, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { createRegionSchema, type NewRegion } from '@tocsin/contracts/regions/region';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { IconButton, type IconButtonProps } from '../components/buttons.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { SaveForm } from '../components/save-form.tsx';
import { REGION_QUERIES, type RegionScope } from './agent-queries.ts';
import { REGION_PAGES } from './region-link.tsx';

interface NewRegionProps extends Pick<IconButtonProps, 'size' | 'variant'> {
  readonly scope: RegionScope;
}

/** Creates an agent region, and opens its page. */
export function NewRegionButton({ scope, ...button }: NewRegionProps): ReactNode {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <IconButton icon={IconPlus} onClick={open} aria-haspopup="dialog" {...button}>
        New region
      </IconButton>
      <Modal
        opened={opened}
        onClose={close}
        title={scope === 'operator' ? 'New shared region' : 'New region'}
      >
        <NewRegionForm scope={scope} onClose={close} />
      </Modal>
    </>
  );
}

/** Explains what agents are for. */
export const AGENTS_HINT =
  'Agents check what only their own network can reach, such as a branch office or a customer’s cluster. An agent needs no open port, because it connects to Tocsin over HTTPS.';

interface NewRegionFormProps {
  readonly scope: RegionScope;
  readonly onClose: () => void;
}

function toBody({ code, name }: { readonly code: string; readonly name: string }): NewRegion {
  return { code, name: name.trim() || null };
}

function NewRegionForm({ scope, onClose }: NewRegionFormProps): ReactNode {
  const refresh = useRefresh();
  const navigate = useNavigate();
  const form = useApiForm({
    initialValues: { code: '', name: '' },
    validate: (values) => bodyErrors(createRegionSchema, toBody(values)),
  });
  const save = async (values: typeof form.values): Promise<void> => {
    const { region } = await api(`POST /api/${scope}/regions`, { body: toBody(values) });
    await refresh(REGION_QUERIES[scope]);
    await navigate({ to: REGION_PAGES[scope], params: { code: region.region } });
  };
  return (
    <SaveForm layout="dialog" form={form} action="Create region" save={save} onCancel={onClose}>
      <Text size="sm">{AGENTS_HINT}</Text>
      <TextInput
        label="Code"
        description="Identifies the region in monitors, such as office-zurich"
        required
        autoComplete="off"
        data-autofocus
        {...form.getInputProps('code')}
      />
      <TextInput
        label="Name"
        description="Shown in the dashboard, such as “Office in Zurich”"
        {...form.getInputProps('name')}
      />
    </SaveForm>
  );
}
