import { expect, test } from 'vitest'
import { testSettings } from '@rapport/testing/fixtures/factories.ts'
import { newId } from '../kernel/ids.ts'
import { createKeys } from './domain-keys.ts'

test('workspaces take turns in generating keys', async () => {
  const settings = { ...testSettings, domainKeyBits: 1_024 }
  const [busy, other] = [newId('wsp'), newId('wsp')]
  const ended: string[] = []
  const create = async (workspaceId: typeof busy) => {
    await createKeys({ workspaceId, settings }, newId('dom'))
    ended.push(workspaceId === busy ? 'busy' : 'other')
  }
  await Promise.all([...Array.from({ length: 6 }, () => create(busy)), create(other)])
  // One was generated when the other workspace came, and one had waited longer.
  expect(ended.indexOf('other')).toBeLessThan(3)
  expect(ended).toHaveLength(7)
})
