/** The records that users name by an email address or by an id. */
import type { Rapport, Suppression } from '@rapport/sdk'
import { CommandFailed, usageError } from './command.ts'

interface Access {
  rapport: Rapport
  signal: AbortSignal
}

/** Returns the id of a contact that is given as `con_…` or by its email address. */
export async function findContactId({ rapport, signal }: Access, given: string): Promise<string> {
  if (given.startsWith('con_')) return given
  requireAddress('<contact>', given, 'con_…')
  const { data } = await rapport.contacts.list({ email: given }, { signal })
  if (data[0]) return data[0].id
  throw new CommandFailed(`No contact has the address ${given}. To suppress it: rapport suppression add ${given}`)
}

/** Returns the id of a bounce or a block that is given as `sup_…` or by the email address. */
export async function findSuppressionId(
  { rapport, signal }: Access,
  given: string,
  reason?: 'BOUNCED' | 'MANUAL',
): Promise<string> {
  if (given.startsWith('sup_')) return given
  requireAddress('<suppression>', given, 'sup_…')
  const found: Suppression[] = []
  const query = { email: given, listId: 'any', limit: 100 } as const
  for await (const record of rapport.suppressions.list(query, { signal })) found.push(record)
  const liftable = found.filter(({ reason: of }) => (reason ? of === reason : of === 'BOUNCED' || of === 'MANUAL'))
  const [first, second] = liftable.length > 0 ? liftable : found
  if (second && liftable.length > 0)
    throw new CommandFailed(`${given} has a bounce and a block: name one with --reason`)
  if (first) return first.id
  throw new CommandFailed(`The address ${given} is not suppressed.`)
}

function requireAddress(argument: string, given: string, id: string): void {
  if (!given.includes('@')) throw usageError(`${argument}: must be an email address or an id (${id})`)
}
