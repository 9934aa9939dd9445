import { createTestContact } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { createSuppression } from '../../suppressions/suppressions.ts'
import { liftSuppression } from '../../suppressions/lift-suppression.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { requestConfirmationMail } from '../../mail/request-confirmation-mail.ts'
import { deleteContact } from './delete-contact.ts'
import { findTraces, spellingsOf } from './find-traces.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

async function lift(email: string, note: string) {
  const { suppression } = await createSuppression(ctx, { email, reason: 'MANUAL' })
  await liftSuppression(ctx, suppression.id, { note })
}
const listNotes = async () => {
  const { rows } = await database.pool.query<{ note: string | null }>(
    `select details->>'note' as note from audit_entries where action = 'suppression.lifted' and workspace_id = $1
      order by created_at, id`,
    [uuidOf(ctx.workspaceId)],
  )
  return rows.map(({ note }) => note)
}

test('an erasure leaves no note about the person in the audit log', async () => {
  await lift('ada@example.com', 'before ADA@example.com was a contact')
  const { id, email } = await createTestContact(ctx, { email: 'ada@example.com' })
  await createTestContact(ctx, { email: 'eve@example.com' })
  await lift(email, 'she asked by telephone')
  await lift('eve@example.com', 'it was wrong')
  await deleteContact(ctx, id)
  expect(await listNotes()).toEqual([null, null, 'it was wrong'])
  const { traces } = await findTraces(database.url, spellingsOf({ email }))
  expect(traces.filter(({ table }) => table === 'audit_entries')).toEqual([])
})

test('an erasure keeps notes about other people whose addresses end alike', async () => {
  const others = ['joann@example.com', 'jo.ann@example.com', 'jo-ann@example.com', 'ann@example.comet']
  for (const other of others) await lift(`lifted.${other}`, `${other} called`)
  const { id } = await createTestContact(ctx, { email: 'ann@example.com' })
  const own = [
    '<ann@example.com>',
    'Ann: ANN@example.com.',
    'ann@example.com, joann@example.com',
    'a.b: ?to=ann@example.com',
  ]
  for (const [index, note] of own.entries()) await lift(`own-${index}@example.com`, note)
  await deleteContact(ctx, id)
  expect(await listNotes()).toEqual([...others.map((other) => `${other} called`), ...own.map(() => null)])
})

test('an erasure leaves no note that quotes a former address', async () => {
  await lift('former@example.com', 'former@example.com moved')
  const { id, email } = await createTestContact(ctx, { email: 'former@example.com' })
  await requestConfirmationMail(ctx, { kind: 'PERSONAL_DATA', email, contactId: id })
  await updateContact(ctx, id, { email: 'ada@example.com' })
  await deleteContact(ctx, id)
  expect(await listNotes()).toEqual([null])
})
