/** A person stops all mail by a link to a former address, while imports write both addresses. */
import { createTestContact, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'
import { preferencesUrl } from '../../consent/preferences-links.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { addSubscriber, readSubscriber } from '../../lists/subscribers.ts'
import { stopAllMail } from './change-preferences.ts'

const ctx = useTestCtx(useTestDatabase())

const tokenOf = (url: string) => new URL(url).searchParams.get('token') ?? ''

const runs = Array.from({ length: countRuns({ gate: 1, full: 100 }) }, (_, run) => run)

test.each(runs)('stopping all by a former address beside four imports is never unavailable (%d)', async () => {
  const list = await createTestList(ctx)
  for (let round = 0; round < 5; round++) {
    const emails = Array.from({ length: 64 }, (_, index) => `person-${round}-${index}@example.com`)
    const [former = '', present = ''] = emails
    const { id: contactId } = await createTestContact(ctx, { email: former })
    await addSubscriber(ctx, list.id, { contactId, status: 'CONFIRMED' })
    await updateContact(ctx, contactId, { email: present })
    const file = `email,status\n${emails.map((email) => `${email},CONFIRMED\n`).join('')}`
    const imports = Array.from({ length: 4 }, () => runTestImport(ctx, file, { listId: list.id }))
    await Promise.all([...imports, stopAllMail(ctx, tokenOf(preferencesUrl(ctx, { contactId, email: former })))])
    expect((await readSubscriber(ctx, list.id, contactId)).status).toBe('UNSUBSCRIBED')
  }
})
