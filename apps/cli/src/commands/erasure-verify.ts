import { Id, type ContactId } from '@rapport/core/kernel/ids.ts'
import { requireDirectUrl } from '@rapport/core/db/pooler.ts'
import { Email } from '@rapport/core/kernel/validation.ts'
import { toErasureReceipt } from '@rapport/core/operations/contacts/erasure-receipt.ts'
import type { ErasureReceipt } from '@rapport/core/operations/contacts/erasure-receipt.schema.ts'
import { findTraces, spellingsOf } from '@rapport/core/operations/contacts/find-traces.ts'
import { readStorageConfig } from '@rapport/core/runtime/config.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option } from '../command.ts'
import { findRedisTraces } from '../find-redis-traces.ts'
import { formatCount, formatTable } from '../terminal.ts'

/** The id of a contact, or an address. */
const Person = z.string().transform((text, check): { contactId?: ContactId; email?: string } => {
  const contactId = Id('con').safeParse(text)
  if (contactId.success) return { contactId: contactId.data }
  const email = Email.safeParse(text)
  if (email.success) return { email: email.data }
  const message = 'must be the id of a contact (con_ and 26 characters) or an address such as ada@example.com'
  check.addIssue({ code: 'custom', message })
  return z.NEVER
})

export const erasureVerify = defineCommand({
  positionals: ['person'],
  isLastRepeated: true,
  options: z.strictObject({
    person: z.array(Person).min(1).meta(option('<person>', 'The id of the contact, its address, or several of both')),
    json: jsonFlag('Prints the receipt as JSON'),
  }),
  notes: [
    'Searches every column of every table, those of queues in PostgreSQL included, and every key of Redis if REDIS_URL is',
    'set, for the spellings of a person: as text, in URLs, HTML, quoted-printable and base64. Prints where something is',
    'left, and why. Exits with 1 if there is a trace without a reason, such as a contact that was not deleted. It reads all',
    'data, so it takes minutes in a large database. To check a backup, restore it into another database and set',
    'DATABASE_URL to it. See docs/guides/privacy.md.',
  ].join('\n'),
  async run({ terminal, environment, stopping }, { person, json }) {
    const spellings = [...new Set(person.flatMap(spellingsOf))]
    const { REDIS_URL, ...config } = readStorageConfig(environment)
    // The search has no timeouts: behind a pooler, the next client of the connection would have none either.
    const url = await requireDirectUrl(config, 'the search')
    const search = async () =>
      toErasureReceipt(await findTraces(url, spellings), {
        redis: REDIS_URL === undefined ? undefined : await findRedisTraces(REDIS_URL, spellings),
      })
    stopping.throwIfAborted()
    // Nothing is written that would have to be finished.
    const receipt = await Promise.race([search(), rejectOnAbort(stopping)])
    terminal.print(json ? JSON.stringify(receipt) : formatReceipt(receipt))
    const hasNoTrace = receipt.found.every(({ reason }) => reason !== null)
    return hasNoTrace ? exitCodes.success : exitCodes.failed
  },
})

const rejectOnAbort = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

function formatReceipt({ searchedTables, searchedRedisKeys, found, notSearched }: ErasureReceipt): string {
  const redis = searchedRedisKeys === null ? 'no Redis' : `${formatCount(searchedRedisKeys, 'key')} of Redis`
  const rows = found.map(({ place, rows, reason }) => [place, rows, reason ?? 'SHOULD NOT BE THERE'])
  return [
    `Searched ${formatCount(searchedTables, 'table')} and ${redis}.`,
    rows.length === 0 ? 'Nothing is left.' : formatTable([['place', 'rows', 'why it is left'], ...rows]),
    '',
    'Not searched:',
    ...notSearched.map((line) => `  ${line}`),
  ].join('\n')
}
