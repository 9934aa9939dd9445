import { expect, test } from 'vitest'
import { isSupportedNode } from './node-version.ts'

test.each(['22.19.0', '22.20.1', '24.0.0', '26.10.0'])('Node %s is supported', (version) => {
  expect(isSupportedNode(version)).toBe(true)
})

test.each(['22.18.0', '20.20.2', '18.19.0'])('Node %s is too old', (version) => {
  expect(isSupportedNode(version)).toBe(false)
})
