import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { redactUnassignedEvents } from './redact-events.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test('many former addresses and many events take no statement beyond its time limit', async () => {
  await ctx.db.execute(sql`
    insert into events (workspace_id, id, type, data, created_at)
    select ${uuidOf(ctx.workspaceId)}::uuid, gen_random_uuid(), 'mail.bounced',
      json_build_object('id', 'mai_1', 'email', n || '@example.com', 'detail', repeat('words ', 100)), now()
    from generate_series(1, 20000) n`)
  const emails = Array.from({ length: 3_000 }, (_, n) => `former-${n}@example.com`)
  const person = { contactIds: [newId('con')], emails, deletedAt: new Date() }
  const steps: string[] = []
  let after: string | undefined = ''
  while (after !== undefined && steps.length < 3) {
    ;({ after } = await redactUnassignedEvents(ctx, person, after))
    steps.push(after ?? '')
  }
  expect(new Set(steps).size).toBe(3)
})
