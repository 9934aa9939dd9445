import { expect, test } from 'vitest'
import { testSettings } from '@rapport/testing/fixtures/factories.ts'
import { newId } from '../kernel/ids.ts'
import { createKeys } from './domain-keys.ts'

test('of many requests that need keys at once, all but four are refused', async () => {
  const settings = { ...testSettings, domainKeyBits: 1_024 }
  const created = await Promise.allSettled(Array.from({ length: 6 }, () => createKeys(settings, newId('dom'))))
  expect(created.map(({ status }) => status === 'fulfilled')).toEqual([true, true, true, true, false, false])
  expect(created.at(-1)).toMatchObject({ reason: { code: 'unavailable' } })
})
