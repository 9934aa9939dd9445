/** Commits what rows say against emails to people, before any row becomes a contact. */
import type { ContactRow } from '../../contacts/contact-record.ts'
import { createContactIndex } from '../../contacts/identity/contact-index.ts'
import { externalIdsOf } from '../../contacts/identity/contact-keys.ts'
import { findExternalIdAliases } from '../../contacts/identity/external-id-aliases.ts'
import {
  addSuppression,
  type ConsentRecords,
  ensureSubscription,
  listRows,
  listSubscriptions,
} from '../../consent/consent-records.ts'
import { hasLeft } from '../../consent/derive-status.ts'
import { restoreLostRows } from '../../consent/lost-rows.ts'
import { deriveStatuses } from '../../consent/derive-statuses.ts'
import type { Reason } from '../../consent/suppression-rows.ts'
import type { FileStatus } from '../../db/schema/imports.ts'
import { notFound } from '../../kernel/errors.ts'
import type { ContactId, ListId } from '../../kernel/ids.ts'
import { emailKey } from '../../kernel/values/email-key.ts'
import type { Timestamp } from '../../kernel/values/timestamps.ts'
import { lockList } from '../../lists/lists.ts'
import type { Ctx } from '../../request/context.ts'
import { inRounds } from '../../request/in-rounds.ts'
import { lockPeople } from '../../suppressions/lock-people.ts'
import type { ImportRecord } from '../import-record.ts'
import type { OptOutStatus } from '../words/statuses.ts'
import { addOptOutKeys, addSaid } from './opt-out-keys.ts'
import { type Counts, undoDryRun } from './save-step.ts'

/** What a row says against emails to a person, who is known by one of the keys. */
export interface OptOutRow {
  email: string | undefined
  externalId: string | undefined
  statuses: OptOutStatus[]
  at: Timestamp | undefined
  /** That of an export of Rapport: nothing new about a contact that has it here. */
  exported?: FileStatus | undefined
}

type Options = Pick<ImportRecord, 'id' | 'listId' | 'eachEvent' | 'dryRun'>

export type OptOutCounts = Counts<'optedOut' | 'suppressed'>

/**
 * Records opt-outs of the list and suppressions of the workspace, and remembers their keys for the second pass. A dry run
 * keeps only the latter. Returns the number of rows of each kind; a row with both is suppressed. The second pass counts
 * rows without an address, because a later row may be about their contact.
 */
export async function recordOptOuts(ctx: Ctx, options: Options, rows: readonly OptOutRow[]): Promise<OptOutCounts> {
  if (rows.length === 0) return { optedOut: 0, suppressed: 0 }
  await addOptOutKeys(ctx, options.id, rows)
  const applied = await undoDryRun(ctx, options, (ctx) => applyOptOuts(ctx, options, rows))
  return countOptOuts(
    options,
    applied.filter(({ email }) => email !== undefined).map(({ statuses }) => statuses),
  )
}

/** The number of rows of each kind, by what each of them says. */
export function countOptOuts(
  { listId }: Pick<Options, 'listId'>,
  rows: readonly (readonly FileStatus[])[],
): OptOutCounts {
  const optedOut = rows.filter((statuses) => listId !== null && statuses.every((one) => one === 'UNSUBSCRIBED')).length
  return { optedOut, suppressed: rows.length - optedOut }
}

/**
 * Applies opt-outs to the addresses of the rows, and to those of the contacts that the external ids find. Returns the rows
 * that say something new.
 */
function applyOptOuts(ctx: Ctx, options: Options, rows: readonly OptOutRow[]): Promise<OptOutRow[]> {
  const keys = rows.map(({ email, externalId }) => ({ email, externalId }))
  const { listId } = options
  return inRounds(ctx, async (ctx) => {
    const { contacts, records } = await lockPeople(ctx, keys, async () => {
      if (listId && !(await lockList(ctx, listId))) throw notFound('List')
    })
    const { match } = createContactIndex({ contacts, aliases: await findExternalIdAliases(ctx, externalIdsOf(rows)) })
    restoreLostRows(ctx, records)
    const findLeft = ({ email, externalId }: OptOutRow) => {
      const contact = (email === undefined ? undefined : match({ email }).record) ?? match({ externalId }).record
      return contact && isOnlyBlocked(records, contact) ? undefined : contact
    }
    const said = rows
      .map((row) => (row.exported ? { ...row, statuses: withoutExported(row, findLeft(row)) } : row))
      .filter(({ statuses }) => statuses.length > 0)
    for (const row of said) {
      const known = match({ externalId: row.externalId }).record?.email
      for (const said of toAddressOptOuts(row, known))
        sayOptOut(ctx, records, { ...said, listId, contactId: match({ email: said.email }).record?.id })
    }
    const saidOfContacts = rows.flatMap((row) => {
      const known = match({ externalId: row.externalId }).record
      const ofKnown = toAddressOptOuts(row, known?.email).filter(
        ({ email }) => known && email === emailKey(known.email),
      )
      return ofKnown.flatMap(({ status }) => (known ? { contactId: known.id, status } : []))
    })
    await addSaid(ctx, options.id, saidOfContacts)
    await deriveStatuses(ctx, records, { emitsEvents: options.eachEvent })
    return said
  })
}

/** Whether a contact shows UNSUBSCRIBED because its address is blocked, and would open again by a lift. */
function isOnlyBlocked(records: ConsentRecords, { id, email, emailSubscribedStatus }: ContactRow): boolean {
  if (emailSubscribedStatus !== 'UNSUBSCRIBED') return false
  const states = listSubscriptions(records, id)
  if (states.length === 0) return !hasLeft(undefined, listRows(records, email))
  return states.some(
    (state) => state.ownStatus !== 'REMOVED' && !hasLeft(state, listRows(records, email, state.listId)),
  )
}

/** The statuses of a row that its contact here does not show already. */
export function withoutExported(
  { statuses, exported }: Pick<OptOutRow, 'statuses' | 'exported'>,
  contact: ContactRow | undefined,
): OptOutStatus[] {
  const shown = contact?.emailSubscribedStatus
  return exported === shown ? statuses.filter((status) => status !== shown) : statuses
}

interface SaidByFile extends AddressOptOut {
  listId: ListId | null
  /** The contact that has the address. */
  contactId: ContactId | undefined
}

/** Records what a row says about one address: UNSUBSCRIBED is of the list of the import, if it has one. */
export function sayOptOut(ctx: Ctx, records: ConsentRecords, { listId, contactId, status, ...said }: SaidByFile): void {
  const isOfList = status === 'UNSUBSCRIBED' && listId !== null
  addSuppression(ctx, records, {
    ...said,
    listId: isOfList ? listId : null,
    reason: reasonOf(status),
    source: 'IMPORT',
  })
  if (isOfList && contactId) ensureSubscription(ctx, records, { listId, contactId, source: 'import' })
}

const reasonOf = (status: OptOutStatus): Reason => (status === 'UNSUBSCRIBED' ? 'OPTED_OUT' : status)

export interface AddressOptOut {
  email: string
  status: OptOutStatus
  at: Timestamp | undefined
}

/** What a person said holds for each of their addresses. A bounce concerns one. */
function toAddressOptOuts({ email: given, statuses, at }: OptOutRow, known: string | undefined): AddressOptOut[] {
  const emails = [...new Set([given, known].flatMap((email) => (email === undefined ? [] : emailKey(email))))]
  const emailsOf = (status: OptOutStatus) => (status === 'BOUNCED' ? emails.slice(0, 1) : emails)
  return statuses.flatMap((status) => emailsOf(status).map((email) => ({ email, status, at })))
}
