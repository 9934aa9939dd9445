/** The examples of refused shapes, on a cluster. */
import { describe, expect, inject, test } from 'vitest'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { useTestCtx, useTestDatabase } from '../fixtures/use-fixtures.ts'
import { withAdminClient } from '../postgres/database.ts'
import { refusedShapes } from './refused-shapes.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const isOnCluster = inject('testServices').nodeUrls.length > 1

/** Runs a statement twice, with the id of the workspace, and undoes it. Returns the number of rows of the second time. */
const runTwice = (text: string) =>
  withAdminClient(database.url, async (client) => {
    const values = text.includes('$1') ? [uuidOf(ctx.workspaceId)] : []
    await client.query('begin')
    await client.query(text, values)
    return (await client.query(text, values)).rowCount
  })

describe.skipIf(!isOnCluster).each(Object.entries(refusedShapes))('%s', (_name, { example, instead, refusal }) => {
  test.runIf(refusal)('is refused', async () => {
    await expect(runTwice(example)).rejects.toThrow(refusal)
  })

  test.skipIf(refusal)('is counted wrong', async () => {
    expect(await runTwice(example)).toBe(1)
  })

  test('is executed if written in another way', async () => {
    expect(await runTwice(instead)).toBeLessThanOrEqual(refusal ? 1 : 0)
  })
})
