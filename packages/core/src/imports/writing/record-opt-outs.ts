/** Commits what rows say against emails to people, before any row becomes a contact. */
import { createContactIndex } from '../../contacts/identity/contact-index.ts'
import { emailKey, externalIdsOf } from '../../contacts/identity/contact-keys.ts'
import { findExternalIdAliases } from '../../contacts/identity/external-id-aliases.ts'
import type { SuppressionReason } from '../../db/schema/index.ts'
import { type ListOptOut, optOutAddresses } from '../../lists/bulk-opt-outs.ts'
import type { Ctx } from '../../request/context.ts'
import { type NewSuppression, suppressLocked } from '../../suppressions/suppress.ts'
import { withLockedAddresses } from '../../suppressions/with-locked-addresses.ts'
import type { OptOutStatus } from '../rows/file-status.ts'
import type { OptOutRow } from '../rows/import-rows.ts'
import type { ImportRecord } from '../import-record.ts'
import { addOptOutKeys } from './opt-out-keys.ts'

type Options = Pick<ImportRecord, 'id' | 'listId' | 'eachEvent' | 'dryRun'>

export interface OptOutCounts {
  optedOut: number
  suppressed: number
}

/**
 * Records opt-outs of the list and suppressions of the workspace, and remembers their keys for the second pass. A dry run
 * does only the latter. Returns the number of rows of each kind; a row with both is suppressed.
 */
export async function recordOptOuts(ctx: Ctx, options: Options, rows: readonly OptOutRow[]): Promise<OptOutCounts> {
  if (rows.length === 0) return { optedOut: 0, suppressed: 0 }
  await addOptOutKeys(ctx, options.id, rows)
  if (!options.dryRun) await applyOptOuts(ctx, options, rows)
  const isOfList = (status: OptOutStatus) => status === 'UNSUBSCRIBED' && options.listId !== null
  const optedOut = rows.filter(({ statuses }) => statuses.every(isOfList)).length
  return { optedOut, suppressed: rows.length - optedOut }
}

/** Applies opt-outs to the addresses of the rows, and to those of the contacts that the external ids find. */
export function applyOptOuts(ctx: Ctx, options: Options, rows: readonly OptOutRow[]): Promise<void> {
  const keys = rows.map(({ email, externalId }) => ({ email, externalId }))
  return withLockedAddresses(ctx, keys, async (ctx, contacts) => {
    const { match } = createContactIndex({ contacts, aliases: await findExternalIdAliases(ctx, externalIdsOf(rows)) })
    const statements = rows.flatMap((row) =>
      toAddressOptOuts(row, match({ externalId: row.externalId }).contact?.email),
    )
    const isOfList = ({ status }: AddressOptOut) => status === 'UNSUBSCRIBED' && options.listId !== null
    const added = statements
      .filter((one) => !isOfList(one))
      .map(
        ({ email, status, at }): NewSuppression => ({
          email,
          reason: reasonOf(status),
          source: 'IMPORT',
          createdAt: at,
        }),
      )
    const ofList = statements
      .filter(isOfList)
      .map(({ email, at = new Date() }): ListOptOut => ({ email, contactId: match({ email }).contact?.id, at }))
    const emitsEvents = options.eachEvent
    await suppressLocked(ctx, { added, contacts }, { emitsEvents })
    if (options.listId) await optOutAddresses(ctx, ofList, { listId: options.listId, emitsEvents })
  })
}

const reasonOf = (status: OptOutStatus): SuppressionReason['reason'] =>
  status === 'UNSUBSCRIBED' ? 'OPTED_OUT' : status

interface AddressOptOut {
  email: string
  status: OptOutStatus
  at: Date | undefined
}

/** What a person said holds for each of their addresses. A bounce concerns one. */
function toAddressOptOuts({ email: given, statuses, at }: OptOutRow, known: string | undefined): AddressOptOut[] {
  const emails = [...new Set([given, known].flatMap((email) => (email === undefined ? [] : emailKey(email))))]
  const emailsOf = (status: OptOutStatus) => (status === 'BOUNCED' ? emails.slice(0, 1) : emails)
  return statuses.flatMap((status) => emailsOf(status).map((email) => ({ email, status, at })))
}
