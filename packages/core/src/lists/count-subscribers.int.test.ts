import { addSubscribers, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { newId } from '../kernel/ids.ts'
import { countSubscribers } from './count-subscribers.ts'

const ctx = useTestCtx(useTestDatabase())

test('counts the subscriptions of one list by status', async () => {
  const [list, other] = [await createTestList(ctx), await createTestList(ctx)]
  await addSubscribers(ctx, list.id, { count: 3, status: 'CONFIRMED', name: 'in' })
  await addSubscribers(ctx, list.id, { count: 2, status: 'UNSUBSCRIBED', name: 'out' })
  await addSubscribers(ctx, other.id, { count: 1, status: 'PENDING', name: 'asked' })
  const counts = { PENDING: 0, CONFIRMED: 3, UNSUBSCRIBED: 2, BOUNCED: 0, COMPLAINED: 0 }
  expect(await countSubscribers(ctx, list.id)).toEqual(counts)
  await expect(countSubscribers(ctx, newId('lst'))).rejects.toThrow('List not found')
})
