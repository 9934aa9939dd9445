import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { createTestWorker } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { readSuppressions } from '../../consent/consent-records.ts'
import { lockContact } from '../../contacts/lock-contact.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import type { ContactId } from '../../kernel/ids.ts'
import { transaction } from '../../db/transaction.ts'
import type { Ctx } from '../../request/context.ts'
import { MailEventInput } from './mail-events.schema.ts'
import { reportMailEvent } from './mail-events.ts'
import { toMailReport } from './mail-report.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const former = 'person-1@example.com'
let contactId: ContactId
let messageId: string

/** The contact has another address since its mail was sent. */
beforeEach(async () => {
  const { id, batches } = await startTestCampaign(ctx, 2)
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  const { recipients } = await sendTestBatch(ctx, batch)
  contactId = recipients.find(({ email }) => email === former)?.id as ContactId
  messageId = `<${id}.${contactId}@example.com>`
  await updateContact(ctx, contactId, { email: 'now@example.com' })
})

type Type = 'BOUNCE' | 'COMPLAINT'
const reasonOf = { BOUNCE: 'BOUNCED', COMPLAINT: 'COMPLAINED' } as const

const report = (of: Ctx, type: Type) => {
  const input = MailEventInput.parse({ type, email: former, permanent: true, messageId })
  return reportMailEvent(of, { ...toMailReport(input), isEmailProven: true })
}
const moveBack = (of: Ctx) => updateContact(of, contactId, { email: former })
const readReasons = async () => (await readSuppressions(ctx, { email: former })).map(({ reason }) => reason)

/** A deadlock would not be repeated. */
const once = (work: (ctx: Ctx) => Promise<void>) => transaction(ctx.db, (db) => work({ ...ctx, db }))

const orders: Record<string, (type: Type) => Promise<unknown>> = {
  async 'locks its contact before the addresses, as a change does'(type) {
    const [locked, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const moving = once(async (ctx) => {
      await lockContact(ctx, contactId)
      locked.resolve()
      await waiting.promise
      await moveBack(ctx)
    })
    await locked.promise
    const reporting = once((ctx) => report(ctx, type))
    await waitUntilBlocked(database.db)
    waiting.resolve()
    return Promise.all([moving, reporting])
  },
  async 'lets a change wait'(type) {
    const reporting = await openTransaction(ctx.db, (db) => report({ ...ctx, db }, type))
    const moving = once(async (ctx) => void (await moveBack(ctx)))
    await waitUntilBlocked(database.db)
    return Promise.all([reporting.commit(), moving])
  },
}

describe.each(Object.entries(orders))('a report of a former address %s', (_, run) => {
  test.each(['BOUNCE', 'COMPLAINT'] as const)('a %s', async (type) => {
    await run(type)
    expect(await readReasons()).toEqual([reasonOf[type]])
  })
})
