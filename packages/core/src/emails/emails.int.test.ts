import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { explainSelects, hidesPlans } from '@rapport/testing/postgres/explain.ts'
import { expect, test } from 'vitest'
import { uuidOf } from '../kernel/ids.ts'
import { listEmails } from './emails.ts'
import { EmailQuery } from './emails.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test.skipIf(hidesPlans).each([
  ['status', { status: 'INTERRUPTED' }, 'emails_status_index'],
  ['tag', { tag: 'rare' }, 'emails_tags_index'],
])('emails with a rare %s are found by an index of it', async (_field, query, index) => {
  const { id } = await createTestEmail(ctx, (await createTestTemplate(ctx)).id)
  // Sent emails like this one.
  await database.pool.query(
    `insert into emails (workspace_id, id, template_id, template_version, ground, status, tags, created_at)
     select workspace_id, gen_random_uuid(), template_id, 1, ground, 'SENT', '{common}', now() - n * interval '1 minute'
     from emails, generate_series(1, 5000) n where id = $1`,
    [uuidOf(id)],
  )
  await database.pool.query('vacuum analyze emails')
  const plans = await explainSelects(database, { ctx, table: 'emails' }, async (ctx) => {
    await listEmails(ctx, EmailQuery.parse(query))
  })
  expect(plans).toEqual([expect.stringContaining(index)])
})
