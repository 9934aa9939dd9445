import { claimTestEmail, createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { expect, test } from 'vitest'
import { uuidOf } from '../kernel/ids.ts'
import { lockWork } from '../work/enqueue.ts'
import type { ClaimedEmail } from './claim-emails.ts'
import { recordEmailOutcomes } from './record-emails.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test('outcomes lock the work of their emails in the order of the ids', async () => {
  const { id: templateId } = await createTestTemplate(ctx)
  const claimed: ClaimedEmail[] = []
  for (const email of ['ada@example.com', 'zoe@example.com']) {
    const one = await claimTestEmail(ctx, (await createTestEmail(ctx, templateId, { to: { email } })).id)
    if (one) claimed.push(one)
  }
  const [first, second] = claimed.toSorted((one, other) => (uuidOf(one.id) < uuidOf(other.id) ? -1 : 1))
  if (!first || !second) throw new Error('The emails were not claimed')
  const holding = await openTransaction(ctx.db, (db) => lockWork({ ...ctx, db }, [uuidOf(first.id)]))
  const recording = recordEmailOutcomes(ctx, [
    { email: second, outcome: { kind: 'refused', temporary: true, error: '450 later' } },
    { email: first, outcome: { kind: 'sent' } },
  ])
  await waitUntilBlocked(database.db)
  const free = await database.pool.query(
    'select id from work where workspace_id = $1 and id = $2 for update skip locked',
    [uuidOf(ctx.workspaceId), uuidOf(second.id)],
  )
  expect(free.rows).toHaveLength(1)
  await holding.commit()
  await recording
  const left = await database.pool.query('select id from work where workspace_id = $1', [uuidOf(ctx.workspaceId)])
  expect(left.rows).toEqual([{ id: uuidOf(second.id) }])
})
