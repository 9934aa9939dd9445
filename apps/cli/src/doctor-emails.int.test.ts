import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { runDoctor } from './testing.ts'

const database = useTestDatabase()
const examine = async () => (await runDoctor({ DATABASE_URL: database.url }))('Emails')

test('Emails: names a paused template, and emails that wait too long', async () => {
  expect(await examine()).toEqual(['ok: no template is paused, and none of their emails waits too long'])
  const ctx = await createTestCtx(database.db)
  const { id } = await createTestTemplate(ctx, { name: 'Receipt' })
  await createTestEmail(ctx, id)
  expect(await examine()).toEqual(['ok: no template is paused, and none of their emails waits too long'])
  await database.pool.query("update emails set created_at = now() - interval '16 minutes'")
  expect(await examine()).toEqual([
    expect.stringMatching(`^warn: ${ctx.workspaceId}: 1 emails from ${id} "Receipt" wait, since 20`),
  ])
  await database.pool.query("update templates set status = 'PAUSED', pause_reason = '3 complaints'")
  expect(await examine()).toEqual([`warn: ${ctx.workspaceId}: ${id} "Receipt" is paused, 1 emails wait: 3 complaints`])
})
