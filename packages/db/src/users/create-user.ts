import type { User } from '@tocsin/contracts/user';
import { AppError } from '@tocsin/contracts/errors';
import type { UserRole } from '@tocsin/contracts/vocabulary';
import { v7 as uuidv7 } from 'uuid';
import { brokenUniqueConstraint } from '../database/errors.ts';
import type { Queryable } from '../database/open.ts';
import { toUser, userColumns } from './user.ts';
import { userLogins, users } from './table.ts';

export interface NewUser {
  readonly accountId: string;
  readonly role: UserRole;
  readonly name: string;
  readonly email: string;
  /** Whether somebody else than the user vouches for the address. */
  readonly emailVerified: boolean;
  /** Null: signs in by single sign-on only. */
  readonly passwordHash: string | null;
}

/**
 * Creates a user, with a password where there is one. Belongs into a transaction.
 * @throws AppError conflict where somebody, in whatever account, has the address
 */
export async function createUser(db: Queryable, input: NewUser): Promise<User> {
  const { passwordHash, ...fields } = input;
  return db.transaction(async (tx) => {
    const id = uuidv7();
    const rows = await tx
      .insert(users)
      .values({ id, ...fields, email: fields.email.toLowerCase() })
      .returning(userColumns)
      .catch((error: unknown) => {
        throw brokenUniqueConstraint(error) === 'users_email_key' ? emailTaken() : error;
      });
    if (passwordHash !== null) {
      await tx.insert(userLogins).values({ userId: id, providerId: 'credential', subject: id, passwordHash });
    }
    const [row] = rows;
    if (!row) throw new Error('no row came back');
    return toUser(row);
  });
}

function emailTaken(): AppError {
  return new AppError('conflict', 'There is a user with this e-mail address already.', {
    errors: [{ path: 'email', message: 'is taken' }],
  });
}
