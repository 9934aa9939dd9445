/** What happens after the first pass of an import has recorded the opt-outs of the file, and before the second writes. */
import { createTestContact, createTestList, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { claimTestImport, queueTestImport, runQueuedImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { listSubscriptionsOfContact } from '../consent/list-subscriptions-of-contact.ts'
import { findContactByEmail } from '../contacts/find-contact.ts'
import { deriveKeys } from '../kernel/crypto.ts'
import { confirmSubscription, subscribe } from '../lists/subscribe.ts'
import { addSubscriber } from '../lists/subscribers.ts'
import type { Ctx } from '../request/context.ts'
import { releaseClaim } from '../work/claims.ts'
import { importSteps } from './import-steps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

/** Imports a file in which people opt out. `act` runs between the passes, and returns the context of the second one. */
async function runImport(file: string, options: Parameters<typeof queueTestImport>[2], act: () => Promise<Ctx>) {
  const { id } = await queueTestImport(ctx, file, options)
  const claimed = await claimTestImport(ctx, id)
  for await (const step of importSteps(ctx, claimed)) {
    await step()
    break
  }
  await releaseClaim(ctx, claimed.claim, 'retry')
  await runQueuedImport(await act(), id)
}

const statusesOf = async (name: string) => {
  const contact = await findContactByEmail(ctx, `${name}@example.com`)
  if (!contact) return []
  return (await listSubscriptionsOfContact(ctx, contact.id, { limit: 100 })).data.map(({ status }) => status)
}

test('an opt-out under an external id counts after a new SECRET_KEY', async () => {
  const keys = deriveKeys('a new secret', ['a secret that is known to every test'])
  const file = 'externalId,email,status\nu1,,unsubscribed\nu1,ada@example.com,confirmed\n'
  await runImport(file, { listId: (await createTestList(ctx)).id }, async () => ({
    ...ctx,
    settings: { ...ctx.settings, keys },
  }))
  expect(await statusesOf('ada')).not.toContain('CONFIRMED')
})

test.each([
  ['without an address', 'u1,,unsubscribed'],
  ['of another address', 'u1,other@example.com,unsubscribed'],
])('a person who returns by a link between the passes stays: a row %s', async (_name, row) => {
  const [list, email] = [await createTestList(ctx), 'ada@example.com']
  const { id: contactId } = await createTestContact(ctx, { email, externalId: 'u1' })
  await addSubscriber(ctx, list.id, { contactId, status: 'CONFIRMED' })
  await runImport(`externalId,email,status\n${row}\n`, { listId: list.id, onConflict: 'skip' }, async () => {
    expect(await statusesOf('ada')).toEqual(['UNSUBSCRIBED'])
    await subscribe(ctx, list.id, { email, firstName: '', lastName: '' })
    await confirmSubscription(ctx, await readMailedToken(ctx, email))
    return ctx
  })
  expect(await statusesOf('ada')).toEqual(['CONFIRMED'])
})

test('a contact that gets its external id between the passes is out', async () => {
  const [list, email] = [await createTestList(ctx), 'ada@example.com']
  await runImport('externalId,email,status\nu1,,unsubscribed\n', { listId: list.id }, async () => {
    const { id: contactId } = await createTestContact(ctx, { email, externalId: 'u1' })
    await addSubscriber(ctx, list.id, { contactId, status: 'CONFIRMED' })
    return ctx
  })
  expect(await statusesOf('ada')).toEqual(['UNSUBSCRIBED'])
})
