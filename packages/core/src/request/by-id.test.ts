import { PgDialect } from 'drizzle-orm/pg-core'
import { expect, test } from 'vitest'
import { contacts } from '../db/schema/index.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { byId } from './by-id.ts'
import type { Ctx } from './context.ts'

const ctx = { workspaceId: newId('wsp') } as Ctx

test('the condition contains the workspace and the id', () => {
  const id = newId('con')
  const condition = byId(contacts, ctx, id)
  expect(condition && new PgDialect({ casing: 'snake_case' }).sqlToQuery(condition)).toMatchObject({
    sql: '("contacts"."workspace_id" = $1 and "contacts"."id" = $2)',
    params: [uuidOf(ctx.workspaceId), uuidOf(id)],
  })
})

test('the id of another kind of record does not compile', () => {
  // @ts-expect-error: the id of a deal
  byId(contacts, ctx, newId('dea'))
  // @ts-expect-error: a UUID
  expect(() => byId(contacts, ctx, 'ad2b9c3e-1f5a-4b6c-8d7e-0f1a2b3c4d5e')).not.toThrow()
})
