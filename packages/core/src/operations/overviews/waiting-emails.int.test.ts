import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { uuidOf } from '../../kernel/ids.ts'
import { createRegistry } from '../../runtime/metrics.ts'
import { listLateTemplates, listPausedTemplates, registerEmailMetrics } from './waiting-emails.ts'

const database = useTestDatabase()

async function readMetrics(): Promise<Record<string, number>> {
  const registry = createRegistry()
  registerEmailMetrics(registry, database.db)
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('rapport_'))
  const values: Record<string, number> = {}
  for (const [name = '', value] of lines.map((line) => line.split(' '))) values[name] = Number(value)
  return values
}

const pause = (id: string, reason: string | null) =>
  database.db.execute(sql`update templates set status = 'PAUSED', pause_reason = ${reason}::text where id = ${id}`)

test('emails that wait are told apart from those of a paused template', async () => {
  expect(await readMetrics()).toEqual({
    'rapport_pending_emails{state="waiting"}': 0,
    'rapport_pending_emails{state="paused"}': 0,
    rapport_email_oldest_seconds: 0,
    rapport_templates_paused: 0,
  })
  const ctx = await createTestCtx(database.db)
  const [late, tried, paused, byUser] = [
    await createTestTemplate(ctx, { name: 'Late' }),
    await createTestTemplate(ctx, { name: 'Tried' }),
    await createTestTemplate(ctx, { name: 'Paused' }),
    await createTestTemplate(ctx, { name: 'By a user' }),
  ]
  for (const { id } of [late, tried, paused]) await createTestEmail(ctx, id)
  await database.db.execute(sql`update emails set created_at = now() - interval '20 minutes'`)
  await createTestEmail(ctx, late.id)
  await database.db.execute(sql`
    update emails set attempts = 1, created_at = now() - interval '3 hours' where template_id = ${uuidOf(tried.id)}`)
  await database.db.execute(sql`
    update emails set created_at = now() - interval '2 hours' where template_id = ${uuidOf(paused.id)}`)
  await pause(uuidOf(paused.id), '3 of the last 9 emails were reported as spam')
  await pause(uuidOf(byUser.id), null)
  const metrics = await readMetrics()
  expect(metrics).toMatchObject({
    'rapport_pending_emails{state="waiting"}': 3,
    'rapport_pending_emails{state="paused"}': 1,
    rapport_templates_paused: 1,
  })
  expect(Math.round((metrics['rapport_email_oldest_seconds'] ?? 0) / 60)).toBe(20)
  expect(await listPausedTemplates(database.db)).toEqual([
    expect.objectContaining({ templateId: paused.id, name: 'Paused', count: 1 }),
  ])
  expect(await listLateTemplates(database.db, 900)).toEqual([
    expect.objectContaining({ templateId: late.id, name: 'Late', count: 1 }),
  ])
  await database.db.execute(sql`update workspaces set suspended_at = now()`)
  expect(Object.values(await readMetrics())).toEqual([0, 0, 0, 0])
  expect([await listPausedTemplates(database.db), await listLateTemplates(database.db, 900)]).toEqual([[], []])
})
