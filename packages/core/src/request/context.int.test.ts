import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createTestList } from '@rapport/testing/fixtures/factories.ts'
import { expect, test } from 'vitest'
import { hasSqlState } from '../db/database-errors.ts'
import { afterCommit } from '../db/transaction.ts'
import type { List } from '../lists/lists.schema.ts'
import { lockListForUpdate } from '../lists/lists.ts'
import { type Ctx, inTransaction } from './context.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

type Lock = PromiseWithResolvers<void>

const isDeadlock = (error: unknown) => hasSqlState(error, ['40P01'])
const failAsDeadlock = ({ db }: Ctx) => db.execute(`do $$ begin raise sqlstate '40P01'; end $$`)

/** Runs a transaction whose first rounds fail as by a deadlock. */
async function runRounds(deadlocks: number) {
  let rounds = 0
  const committed: number[] = []
  const result = await inTransaction(ctx, async (ctx) => {
    const round = ++rounds
    afterCommit(ctx.db, `round ${round}`, () => void committed.push(round))
    if (round <= deadlocks) await failAsDeadlock(ctx)
    return round
  }).catch((error: unknown) => error)
  return { result, rounds, committed }
}

test('a transaction begins again after a deadlock, and only what commits counts', async () => {
  expect(await runRounds(2)).toEqual({ result: 3, rounds: 3, committed: [3] })
})

test('a transaction that deadlocks three times fails', async () => {
  const { result, rounds, committed } = await runRounds(3)
  expect(result).toSatisfy(isDeadlock)
  expect([rounds, committed]).toEqual([3, []])
})

test('a deadlock in a savepoint lets the whole transaction begin again', async () => {
  const rounds: string[] = []
  await inTransaction(ctx, async (ctx) => {
    rounds.push('transaction')
    await inTransaction(ctx, async (ctx) => {
      rounds.push('savepoint')
      if (rounds.length === 2) await failAsDeadlock(ctx)
    })
  })
  expect(rounds).toEqual(['transaction', 'savepoint', 'transaction', 'savepoint'])
})

test('two transactions that lock two records in different orders both commit', async () => {
  const [one, two] = [await createTestList(ctx), await createTestList(ctx)]
  const lockBoth = ([first, second]: [List, List], [mine, others]: [Lock, Lock]) =>
    inTransaction(ctx, async (ctx) => {
      await lockListForUpdate(ctx, first.id)
      mine.resolve()
      await others.promise
      return lockListForUpdate(ctx, second.id)
    })
  const locks: [Lock, Lock] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const both = [lockBoth([one, two], locks), lockBoth([two, one], [locks[1], locks[0]])]
  expect(await Promise.all(both)).toMatchObject([{ id: two.id }, { id: one.id }])
})
