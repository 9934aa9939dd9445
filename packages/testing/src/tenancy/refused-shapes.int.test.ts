/** The examples of refused shapes, on a cluster. */
import type pg from 'pg'
import { describe, expect, inject, test } from 'vitest'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { useTestCtx, useTestDatabase } from '../fixtures/use-fixtures.ts'
import { withAdminClient } from '../postgres/database.ts'
import { refusedShapes } from './refused-shapes.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const isOnCluster = inject('testServices').nodeUrls.length > 1

/** Runs statements as a prepared one of the workspace, whose id is the only parameter, and undoes them. */
const inRollback = (work: (run: (text: string) => Promise<pg.QueryResult>) => Promise<unknown>) =>
  withAdminClient(database.url, async (client) => {
    await client.query('begin')
    await work((text) => client.query(text, text.includes('$1') ? [uuidOf(ctx.workspaceId)] : []))
  })

describe.skipIf(!isOnCluster).each(Object.entries(refusedShapes))('%s', (_name, { example, instead, refusal }) => {
  test('is refused, or has a wrong result', () =>
    inRollback(async (run) => {
      if (refusal) return expect(run(example)).rejects.toThrow(refusal)
      await run(example)
      expect((await run(example)).rowCount).toBe(1)
    }))

  test('is executed if written in another way', () =>
    inRollback(async (run) => {
      await run(instead)
      if (!refusal) expect((await run(instead)).rowCount).toBe(0)
    }))
})
