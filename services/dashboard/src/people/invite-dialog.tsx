import { Radio, Stack, TextInput } from '@mantine/core';
import { createInvitationSchema, type Invitation } from '@tocsin/contracts/people/user';
import { USER_ROLES, type UserRole } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { NewSecret } from '../components/code.tsx';
import { ResultDialog } from '../components/dialogs.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { SaveForm } from '../components/save-form.tsx';
import { Time } from '../components/text.tsx';
import { ROLE_NAMES } from './role-names.ts';

const RIGHTS: Readonly<Record<UserRole, string>> = {
  viewer: 'Read-only, without header values, bodies, responses, secrets and channel URL paths',
  member: 'Manages monitors, channels, maintenance and API keys',
  owner: 'Also manages people and channel secrets',
};

interface NewMember {
  /** Empty if the person who opens the link chooses an address. */
  readonly email: string;
  readonly role: UserRole;
}

interface InviteDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly emailHint: string;
  readonly isEmailRequired?: boolean;
  /** @returns an invitation, or null if the person needs none */
  readonly invite: (member: NewMember) => Promise<CreatedInvitation | null>;
}

export type CreatedInvitation = { readonly invitation: Invitation; readonly url: string };

/** Adds a person to an account, and shows the link of an invitation once. */
export function InviteDialog(props: InviteDialogProps): ReactNode {
  const { opened, onClose, title, emailHint, isEmailRequired = false, invite } = props;
  const [created, setCreated] = useState<CreatedInvitation | null>(null);
  const close = (): void => {
    setCreated(null);
    onClose();
  };
  const save = async (member: NewMember): Promise<void> => {
    const result = await invite({ ...member, email: member.email.trim() });
    if (result === null) close();
    else setCreated(result);
  };
  return (
    <ResultDialog
      opened={opened}
      title={created === null ? title : 'Your invitation link'}
      result={created && <InvitationLink {...created} />}
      onClose={close}
    >
      <InvitationForm save={save} onCancel={close} emailHint={emailHint} isEmailRequired={isEmailRequired} />
    </ResultDialog>
  );
}

interface InvitationFormProps extends Required<Pick<InviteDialogProps, 'emailHint' | 'isEmailRequired'>> {
  readonly save: (member: NewMember) => Promise<void>;
  readonly onCancel: () => void;
}

function InvitationForm({ save, onCancel, emailHint, isEmailRequired }: InvitationFormProps): ReactNode {
  const form = useApiForm<{ email: string; role: UserRole }>({
    initialValues: { email: '', role: 'member' },
    validate: ({ email, role }) => [
      ...(isEmailRequired && email.trim() === '' ? [{ path: 'email', message: 'Enter an address.' }] : []),
      ...bodyErrors(createInvitationSchema, { role, email: email.trim() || null }),
    ],
  });
  return (
    <SaveForm
      form={form}
      action={isEmailRequired ? 'Add' : 'Create link'}
      save={save}
      onCancel={onCancel}
      layout="dialog"
    >
      <TextInput
        label="Email address"
        description={emailHint}
        type="email"
        required={isEmailRequired}
        data-autofocus
        {...form.getInputProps('email')}
      />
      <Radio.Group label="Role" {...form.getInputProps('role')}>
        <Stack gap="xs" mt="xs">
          {USER_ROLES.toReversed().map((role) => (
            <Radio key={role} value={role} label={ROLE_NAMES[role]} description={RIGHTS[role]} />
          ))}
        </Stack>
      </Radio.Group>
    </SaveForm>
  );
}

function InvitationLink({ invitation: { email, expiresAt }, url }: CreatedInvitation): ReactNode {
  const advice = (
    <>
      Send this link to {email ?? 'the person'}. It works once, until <Time value={expiresAt} />, and is not
      shown again.
    </>
  );
  return <NewSecret secret={url} what="the link" advice={advice} />;
}
