import type { Ctx } from '../request/context.ts'
import { AppError, conflict } from '../kernel/errors.ts'
import type { ContactRow } from './contact-record.ts'
import { selectContactByEmail } from './contact-statements.ts'

/** The contact of an address; undefined when there is none. */
export async function findContactByEmail({ db, workspaceId }: Ctx, email: string): Promise<ContactRow | undefined> {
  const [row] = await selectContactByEmail(db, { workspaceId, email })
  return row
}

/** The conflict of who wants an address that is taken, naming whose it is. */
export function alreadyExists(owner: ContactRow | undefined): AppError {
  if (owner) return conflict('Contact already exists', { contactId: owner.id })
  return new AppError('unavailable', 'The contact was just deleted: try again')
}
