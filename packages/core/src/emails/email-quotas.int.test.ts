import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test, vi } from 'vitest'
import { mailRequests } from '../db/schema/index.ts'
import { newId } from '../kernel/ids.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { setQuotas } from '../workspaces/set-quotas.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

/** Imports the quotas like another process, with estimates of its own. */
async function startProcess() {
  vi.resetModules()
  return await import('./email-quotas.ts')
}

test('two processes together accept no more emails than the quota', async () => {
  await setQuotas(ctx, { emails: 500 })
  const [first, second] = [await startProcess(), await startProcess()]
  const accept = (n: number) =>
    inTransaction(ctx, async (ctx: Ctx) => {
      const take = await (n % 2 === 0 ? first : second).openEmailQuotas(ctx, 1)
      await take()
      const id = newId('mai')
      await ctx.db.insert(mailRequests).values({ workspaceId: ctx.workspaceId, id, kind: 'EMAIL', addressHash: id })
    }).then(
      () => 'accepted',
      (error: unknown) => String(error),
    )
  const results = []
  for (let n = 0; n < 700; n += 10)
    results.push(...(await Promise.all(Array.from({ length: 10 }, (_, i) => accept(n + i)))))
  expect(results.filter((result) => result === 'accepted')).toHaveLength(500)
  expect(results.filter((result) => result.includes('quota of this workspace is used up'))).toHaveLength(200)
})
